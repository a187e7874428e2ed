/**
 * The `cdk` commands of the deploy lane: each is what a person would type, with an emulator's endpoint in the environment.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EMULATOR_REGION } from '../aws-emulator.ts';
import { laneEnvironment } from './lane-environment.ts';

/** Outputs of the stack, by name. */
export type Outputs = Readonly<Record<string, string>>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CDK = join(ROOT, 'node_modules', '.bin', 'cdk');
const FOLDER = join(ROOT, '.tmp');
const ASSEMBLY = join(FOLDER, 'cdk.out');
const OUTPUTS = join(FOLDER, 'cdk-outputs.json');
const COMMAND_MS_MAX = 180_000;

export class CdkRun {
  readonly #environment: NodeJS.ProcessEnv;

  constructor(endpoint: string) {
    this.#environment = laneEnvironment(endpoint);
  }

  async bootstrap(): Promise<void> {
    await mkdir(FOLDER, { recursive: true });
    const account = `aws://000000000000/${EMULATOR_REGION}`;
    await this.#cdk('bootstrap', account, '--output', ASSEMBLY);
  }

  /** Synthesises the app with this pipeline, deploys it and gives the stack's outputs. */
  async deploy(pipelineFile: string): Promise<Outputs> {
    await rm(ASSEMBLY, { recursive: true, force: true });
    const context = ['-c', 'target=emulator', '-c', `pipeline=${pipelineFile}`];
    await this.#cdk('synth', '--quiet', '--output', ASSEMBLY, ...context);
    const flags = ['--app', ASSEMBLY, '--require-approval', 'never', '--outputs-file', OUTPUTS];
    await this.#cdk('deploy', ...flags);
    const outputs = JSON.parse(await readFile(OUTPUTS, 'utf8')) as Record<string, Outputs>;
    const [mine] = Object.values(outputs);
    if (mine === undefined) throw new Error(`${OUTPUTS} names no stack`);
    return mine;
  }

  async destroy(): Promise<void> {
    await this.#cdk('destroy', '--app', ASSEMBLY, '--force');
  }

  /** Runs a command and says how long it took. */
  async #cdk(...args: readonly string[]): Promise<void> {
    const startMs = performance.now();
    try {
      await promisify(execFile)(CDK, [...args, '--no-notices'], {
        cwd: ROOT,
        env: this.#environment,
        timeout: COMMAND_MS_MAX,
      });
      console.log(`cdk ${args[0]}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`cdk ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
    }
  }
}
