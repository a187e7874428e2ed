/**
 * What a terminal may be given: values are data, and control characters, escape sequences and marks that turn the direction
 * of text must not reach it as they are.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/gu;

/** Each character that a terminal must not get as `\u001b`: what differs looks different. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same of a message of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON of the same value, with these characters written as JSON escapes them. */
export function printableJson(value: unknown, indent = 0): string {
  // Line breaks are only between the lines of the JSON: those of texts are escaped already.
  return printableLines(JSON.stringify(value, null, indent));
}

/**
 * A group key as a table shows it, and as `--key` takes it: text as it is where that is clear, otherwise as JSON, so that the
 * text "7" and the number 7, "" and nothing, look different.
 */
export function keyText(value: unknown): string {
  if (typeof value !== 'string') return printableJson(value);
  return isClear(value) ? value : printableJson(value);
}

function isClear(text: string): boolean {
  if (text === '' || text !== text.trim() || text.startsWith('"')) return false;
  if (printable(text) !== text) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
}
