/**
 * `npm pack` and `npm publish` take package.json as it lies there. Ours serves this repository: its scripts, and Node 24
 * for developers. `prepare` puts the published one in its place and keeps ours in a file beside it; `restore` moves it
 * back. The file is written first and removed last, so whatever interrupts npm in between, `npm run postpack` or the
 * next pack puts things right, and a test notices.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The oldest Node that strips types without a flag, which pipeline files need. cli/bin.js says the same. */
const ENGINES = { node: '>=22.18' };
const FOR_DEVELOPERS = ['scripts', 'devDependencies', 'allowScripts'];

const OURS = fileURLToPath(new URL('../package.json', import.meta.url));
const KEPT = fileURLToPath(new URL('../.package.json.kept', import.meta.url));

switch (process.argv[2]) {
  case 'prepare':
    restore();
    prepare();
    break;
  case 'restore':
    restore();
    break;
  default:
    console.error('usage: node scripts/pack.ts prepare | restore');
    process.exit(2);
}

function prepare(): void {
  const text = readFileSync(OURS, 'utf8');
  const published = JSON.parse(text);
  for (const key of FOR_DEVELOPERS) delete published[key];
  published.engines = ENGINES;

  write(KEPT, text);
  write(OURS, `${JSON.stringify(published, null, 2)}\n`);
}

function restore(): void {
  if (!existsSync(KEPT)) return;
  const ourselvesAlready = 'scripts' in JSON.parse(readFileSync(OURS, 'utf8'));
  if (ourselvesAlready) rmSync(KEPT);
  else renameSync(KEPT, OURS);
}

/** Whole or not at all: a reader never sees half a file. */
function write(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
