/**
 * Makes dist/, which is what a package from npm runs. It mirrors the tree file by file (core/ports.ts becomes
 * dist/core/ports.js), so that a file finds its neighbours by the same relative path in both.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { FUNCTION_NAMES } from '../functions/deployment-contract.ts';
import { bundleFunction } from './bundle-functions.ts';

const root = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

rmSync(root('dist'), { recursive: true, force: true });
compile();
copyStaticFiles('console');
copyStaticFiles('infra/emulator');
for (const name of FUNCTION_NAMES) {
  bundleFunction(name, root(`dist/functions-bundled/${name}/index.mjs`));
}

function compile(): void {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [tsc, '-p', root('tsconfig.build.json')], { stdio: 'inherit' });
  } catch {
    console.error('The types do not hold (above), so dist/ was not made.');
    process.exit(1);
  }
}

/** Pages and what belongs to them: all that the compiler does not turn into JavaScript. */
function copyStaticFiles(folder: string): void {
  cpSync(root(folder), root(`dist/${folder}`), {
    recursive: true,
    filter: (path) => !path.endsWith('.ts'),
  });
}
