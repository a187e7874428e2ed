/**
 * Field paths as text: dots reach into nested objects, `\.` is a dot in a name, `\\` a backslash. A name that is all of
 * `*` is written `\*`, because `*` alone stands for the record itself (`count: "*"`).
 */
import { FIELD_PATH_DEPTH_MAX, FIELD_PATH_LENGTH_MAX } from '../limits.ts';

/** A path into a record: `a.b` reaches the field `b` of the object in field `a`. Never empty, nor any name in it. */
export type FieldPath = readonly string[];

/** A field of a record; dots reach into nested objects, `\.` is a dot in a name and `\\` a backslash. */
export type FieldText = string;

/** The names of a path, or null for text that is not one: empty names, a lone `*`, a backslash before anything else. */
export function parseFieldPath(text: string): FieldPath | null {
  if (text === '*' || text.length > FIELD_PATH_LENGTH_MAX) return null;
  const names: string[] = [];
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string;
    if (character === '\\') {
      const escaped = text[++index];
      if (escaped !== '.' && escaped !== '\\' && escaped !== '*') return null;
      name += escaped;
    } else if (character === '.') {
      names.push(name);
      name = '';
    } else name += character;
  }
  names.push(name);
  return names.length <= FIELD_PATH_DEPTH_MAX && !names.includes('') ? names : null;
}

/** The text of a path: the inverse of `parseFieldPath`, the same for every spelling of the path. */
export function formatFieldPath(path: FieldPath): string {
  if (path.length === 1 && path[0] === '*') return '\\*';
  return path.map((name) => name.replace(/[.\\]/g, '\\$&')).join('.');
}
