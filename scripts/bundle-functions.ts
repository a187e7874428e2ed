/**
 * One function as one file, with all that it needs: what is deployed. The SDK too, so that the version which was tested is the
 * one that runs, and a cold start reads one file.
 *
 * `node scripts/bundle-functions.ts NAME FILE` writes `functions/NAME/compose.ts`, which exports the handler, to FILE.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { FUNCTION_NAMES, type FunctionName } from '../functions/deployment-contract.ts';

/** Waits for it: constructs are made in one go. Throws with what the bundler says. */
export function bundleFunction(name: FunctionName, outFile: string): void {
  const script = fileURLToPath(import.meta.url);
  execFileSync(process.execPath, [script, name, outFile], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function bundle(name: FunctionName, outFile: string): Promise<void> {
  const fileOf = (path: string) => fileURLToPath(new URL(`../functions/${path}`, import.meta.url));
  const bundler = await rolldown({
    input: fileOf(`${name}/compose.ts`),
    platform: 'node',
    treeshake: { propertyReadSideEffects: false },
    resolve: {
      mainFields: ['module', 'main'],
      alias: { '@aws-sdk/credential-provider-node': fileOf('aws-credentials.ts') },
    },
  });
  await bundler.write({ file: outFile, format: 'esm', minify: true, codeSplitting: false });
  await bundler.close();
}

if (import.meta.main) {
  const [name, outFile] = process.argv.slice(2);
  const known = FUNCTION_NAMES.find((each) => each === name);
  if (known === undefined || outFile === undefined) {
    console.error(`usage: node scripts/bundle-functions.ts ${FUNCTION_NAMES.join('|')} FILE`);
    process.exit(2);
  }
  await bundle(known, outFile);
}
