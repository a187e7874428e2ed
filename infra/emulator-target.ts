/**
 * What is different on an emulator (LocalStack, MiniStack): explicit names, so that scripts find things; a runtime of our own,
 * which keeps the names of faults; the endpoint in the environment, which own runtimes are not given. Alarms leave out
 * metric math, and nothing is kept: see `alarms.ts` and `pipeline-settings.ts`.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PipelineSettings } from './pipeline-settings.ts';

type Naming = Pick<PipelineSettings, 'plan' | 'stage' | 'target'>;

const ENDPOINT_DEFAULT = 'http://127.0.0.1:4566';
const NAME_LENGTH_MAX = 30;
const BOOTSTRAP = fileURLToPath(new URL('./emulator/bootstrap.mjs', import.meta.url));

/** The property that names a resource, on an emulator only: on AWS a name would stand in the way of a replacement. */
export function explicitName<Property extends string>(
  naming: Naming,
  property: Property,
  what: string,
): { readonly [P in Property]?: string } {
  if (naming.target !== 'emulator') return {};
  return { [property]: emulatorName(naming, what) } as { readonly [P in Property]?: string };
}

/** In the letters that a bucket's name may have, and short enough for a function's. */
function emulatorName({ plan, stage }: Naming, what: string): string {
  const name = plan.name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, NAME_LENGTH_MAX);
  return `tidemark-${name}-${stage}-${what}`.toLowerCase();
}

/** Puts the runtime beside a bundle. */
export function writeEmulatorRuntime(folder: string): void {
  cpSync(BOOTSTRAP, join(folder, 'bootstrap.mjs'));
  const script = '#!/bin/sh\nexec node "$LAMBDA_TASK_ROOT/bootstrap.mjs"\n';
  writeFileSync(join(folder, 'bootstrap'), script, { mode: 0o755 });
}

export function emulatorEnvironment(): Record<string, string> {
  return { AWS_ENDPOINT_URL: process.env['AWS_ENDPOINT_URL'] || ENDPOINT_DEFAULT };
}
