/**
 * Why a text is no time that is read, where it looks like one: other forms of ISO 8601, numbers as text, days that do not
 * exist. For a person who reads why a record was quarantined, or why a setting was refused.
 */
import { parseIsoTime } from './iso-time.ts';
import { Zone } from './zone.ts';

const UTC = new Zone('UTC');
const LENGTH_MAX = 64;

/** What to write instead, such as `write "2026-07-01T10:00"`; null where the text is not known. */
export function timeTextAdvice(text: string): string | null {
  if (text.length > LENGTH_MAX) return null;
  for (const { form, advice } of FORMS) {
    const match = form.exec(text);
    const said = match === null ? null : advice(match);
    if (said !== null) return said;
  }
  return null;
}

/** A date and a time without anything between their digits: as a number of seconds or milliseconds it would be another year. */
const COMPACT =
  /^\s*(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])(?:[0-5]\d){0,2}\s*$/;

/** The number that a text holds and nothing else, such as epoch milliseconds; null otherwise, and for what is a date. */
export function numberInText(text: string): number | null {
  if (COMPACT.test(text)) return null;
  return /^\s*-?\d{9,19}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : null;
}

interface Form {
  readonly form: RegExp;
  readonly advice: (match: RegExpExecArray) => string | null;
}

const OFFSET = '(Z|[+-]\\d\\d(?::?\\d\\d)?)?';

const FORMS: readonly Form[] = [
  {
    form: /^\s|\s$/,
    advice: ({ input }) => written(input.trim(), 'without spaces around it'),
  },
  { form: /[tz]/, advice: ({ input }) => written(input.toUpperCase(), 'T and Z are capitals') },
  {
    form: new RegExp(
      `^(\\d{4})(\\d\\d)(\\d\\d)(?:[T ]?(\\d\\d)(?::?(\\d\\d)(?::?(\\d\\d)([.,]\\d+)?)?)?${OFFSET})?$`,
    ),
    advice: ([, year, month, day, hour, minute = '00', second, fraction = '', offset = '']) => {
      const seconds = second === undefined ? '' : `:${second}${fraction}`;
      const time = hour === undefined ? '' : `T${hour}:${minute}${seconds}${offset}`;
      return written(`${year}-${month}-${day}${time}`, 'with hyphens and colons');
    },
  },
  {
    form: new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)[T ](\\d\\d)(?:(\\d\\d)(\\d\\d)?)?${OFFSET}$`),
    advice: ([, date, hour, minute = '00', second, offset = '']) =>
      written(
        `${date}T${hour}:${minute}${second === undefined ? '' : `:${second}`}${offset}`,
        'an hour needs its minutes, after a colon',
      ),
  },
  {
    form: /^\d{4}-?W\d\d(-?\d)?(?![^T ])/,
    advice: () => 'weeks are not read: write year, month and day',
  },
  {
    form: /^\d{4}-?\d{3}(?![^T ])/,
    advice: () => 'days of the year are not read: write year, month and day',
  },
  {
    form: /^\d{4}-\d\d$/,
    advice: () => 'a month is no time: write its day too',
  },
  {
    form: /^(\d{4}-(\d\d)-(\d\d))(?!\d)/,
    advice: ([, date = '']) => (isTime(date) ? null : `there is no day ${date}`),
  },
  {
    form: /^\d{4}-\d\d-\d\d[T ]24:00/,
    advice: () => 'the hour 24 is not read: write 00:00 of the day after',
  },
  {
    form: /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:60/,
    advice: () => 'a leap second (60) is not read: write 59',
  },
  {
    form: /^\d{1,4}[./]\d{1,2}[./]\d{1,4}/,
    advice: () => 'write year, month and day with hyphens, in this order',
  },
];

function written(text: string, why: string): string | null {
  return isTime(text) ? `write "${text}", ${why}` : null;
}

function isTime(text: string): boolean {
  return !Number.isNaN(parseIsoTime(text, UTC));
}
