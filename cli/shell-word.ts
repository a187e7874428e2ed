/**
 * Words of commands that messages offer to be copied, as a POSIX shell takes them.
 */

/** No shell sees anything but the characters themselves in these; `=` and `~` at the start mean something to some. */
const PLAIN = /^[\w./:@%+,-]+$/;

/** `text` as one word, in quotes where it needs them. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : shellQuoted(text);
}

/** `text` as one word in single quotes. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A path as one word that no program takes for an option. */
export function shellPath(path: string): string {
  return shellWord(path.startsWith('-') ? `./${path}` : path);
}
