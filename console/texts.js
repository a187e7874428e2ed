/*
 * How the page writes keys, amounts and times: as `tidemark query` does, so that what is seen can be asked for.
 */

/** What JSON says, with thousands apart. */
export function numberText(value) {
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(String(value));
  return `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${rest}`;
}

/** A group key: text as it is where that is clear, otherwise as JSON, so that the text "7" and the number 7 look different. */
export function keyText(value) {
  return typeof value === 'string' && isClear(value) ? value : printable(JSON.stringify(value));
}

/** An ISO 8601 time of an answer, with its offset. */
export function timeText(iso) {
  return iso.replace(
    /^(.+)T([\d:]+)(?:\.000|(\.\d+))(Z|[+-].+)$/,
    (_, date, clock, ms = '', offset) =>
      offset === 'Z' ? `${date} ${clock}${ms}Z` : `${date} ${clock}${ms} ${offset}`,
  );
}

/** How far an answer holds. */
export function standingText({ complete, closedBefore }) {
  if (complete) return 'complete';
  if (closedBefore === undefined) return 'goes on growing';
  return closedBefore === null ? 'nothing closed yet' : `closed up to ${timeText(closedBefore)}`;
}

function isClear(text) {
  if (text === '' || text !== text.trim() || text.startsWith('"')) return false;
  if (printable(text) !== text) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

/** Characters that cannot be seen, or that turn the direction of text, as escapes. */
function printable(text) {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/gu,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}
