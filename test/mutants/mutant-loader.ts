/**
 * Loaded before everything else in a mutant's process: replaces text of the sources that the mutant names, as they are
 * loaded. Text that is not there exactly once ends the process, so that a mutant cannot silently become none.
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { mutantNamed } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const mutant = mutantNamed(process.env['TIDEMARK_MUTANT'] ?? '');
const pending = new Set(mutant.edits.map(({ file }) => file));

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith('file:')) return loaded;
    const file = fileURLToPath(url).slice(ROOT.length);
    if (!pending.has(file)) return loaded;
    let text = String(
      loaded.source instanceof Uint8Array ? new TextDecoder().decode(loaded.source) : loaded.source,
    );
    for (const edit of mutant.edits.filter((each) => each.file === file)) {
      const parts = text.split(edit.find);
      if (parts.length !== 2) {
        throw new Error(`${mutant.name}: ${file} has ${parts.length - 1} times ${edit.find}`);
      }
      text = parts.join(edit.replace);
    }
    pending.delete(file);
    return { ...loaded, source: text };
  },
});

process.on('exit', () => {
  if (pending.size > 0) {
    process.stderr.write(`${mutant.name}: ${[...pending].join(', ')} was never loaded\n`);
    process.exitCode = 3;
  }
});
