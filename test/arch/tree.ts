/**
 * The files of the repository as the rules see them. No git: a copy without history must pass too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TreeFile {
  /** Relative to the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
}

const TEXT = /\.(ts|js|cjs|mjs|json|md|html|css|grit|sh)$|^\.ci\/|^\.(editorconfig|gitattributes)$/;

/** What npm, the build and runs leave behind; and what breaks rules on purpose. */
const SKIPPED =
  /^(node_modules|dist|coverage|\.git|\.tidemark|\.tmp|\.venv-.*|cdk\.out)$|^test\/arch\/(fixture|tidy\.test\.ts)$/;

/** Every text file below `root`, sorted by path. */
export function readTree(root: string): TreeFile[] {
  const files: TreeFile[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (SKIPPED.test(entry.name) || SKIPPED.test(path)) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile() && TEXT.test(path)) {
        files.push({ path, text: readFileSync(join(root, path), 'utf8') });
      }
    }
  };
  visit('');
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}
