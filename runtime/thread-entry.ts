/**
 * The module that a thread runs: TypeScript in a checkout, JavaScript in the published package.
 */
import { extname } from 'node:path';

type ThreadModule = 'aggregate-environment' | 'query-environment' | 'keep-compiled';

export function threadEntry(name: ThreadModule): URL {
  return new URL(`./${name}${extname(import.meta.url)}`, import.meta.url);
}
