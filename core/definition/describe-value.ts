/**
 * What was found, in a few words for a person: never longer than a line, whatever the value, and never throws.
 */
const TEXT_LENGTH_MAX = 60;

/** Scalars as JSON, cut short; objects and arrays by their kind; `undefined` as "nothing". */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'nothing';
    case 'string':
      return quoted(value);
    case 'number':
      return Object.is(value, -0) ? '0' : String(value);
    case 'boolean':
      return String(value);
    case 'bigint':
      return shortened(`${value}n`);
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : describeObject(value);
  }
}

/** The text in double quotes, cut short. */
function quoted(text: string): string {
  return text.length <= TEXT_LENGTH_MAX
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, TEXT_LENGTH_MAX))}… (${text.length} characters)`;
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? 'an object' : `an object (${shortened(tag)})`;
}

function shortened(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}
