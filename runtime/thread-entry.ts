/**
 * The module that a thread runs: TypeScript in a checkout, JavaScript in the published package.
 */
import { extname } from 'node:path';

export function threadEntry(name: 'aggregate-environment' | 'query-environment'): URL {
  return new URL(`./${name}${extname(import.meta.url)}`, import.meta.url);
}
