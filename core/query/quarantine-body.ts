/**
 * The body of a request about quarantined records: which are meant, by id, or by reason and time of arrival.
 */
import { BAD_RECORD_REASONS } from '../decode/record-decoder.ts';
import { REDRIVE_IDS_MAX } from '../limits.ts';
import { isQuarantineId, type QuarantineSelection } from '../ports.ts';
import { readTime } from './parameter-values.ts';
import { type Asked, asked, didYouMean, refuse } from './query-problem.ts';
import { openToken, sealToken } from './token.ts';

/** Which records are meant. Of a selection, those after the id `after` only: it may be more than one request takes. */
export type RecordChoice =
  | { readonly ids: readonly string[] }
  | { readonly selection: QuarantineSelection; readonly after: string | null };

export const RECORD_CHOICE_EXAMPLE =
  '{"ids": ["…"]} or {"reason": "wrong-type", "from": "2026-11-30T08:00:00Z"}';

const BODY = { path: 'body', expected: `an object such as ${RECORD_CHOICE_EXAMPLE}` };
const PROPERTIES = 'ids, or reason, from, to and next';

/** Times without offset are times of `zone`. */
export function parseRecordChoice(body: unknown, zone: string): Asked<RecordChoice> {
  return asked(() => {
    const found = describe(body);
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      return refuse('wrong-body', 'The body says which records are meant.', { ...BODY, found });
    }
    const { ids, reason, from, to, next, ...others } = body as Record<string, unknown>;
    const [other] = Object.keys(others);
    if (other !== undefined) {
      return refuse('unknown-property', `There is no property '${other}'.`, {
        path: other,
        expected: PROPERTIES,
        found: other,
      });
    }
    const isSelection = [reason, from, to].some((each) => each !== undefined);
    const isBoth = ids !== undefined && (isSelection || next !== undefined);
    if (isBoth || (ids === undefined && !isSelection)) {
      const detail = 'Give ids, or at least one of reason, from and to.';
      return refuse('wrong-body', detail, { ...BODY, found });
    }
    if (ids !== undefined) return { ids: readIds(ids) };
    const selection = {
      reason: reason === undefined ? null : readReason(reason),
      fromMs: from === undefined ? null : readArrival('from', from, zone),
      toMs: to === undefined ? null : readArrival('to', to, zone),
    };
    return { selection, after: next === undefined ? null : readNext(next) };
  });
}

/** What `next` in a later body is, to go on after this id. */
export function nextOfChoice(id: string): string {
  return sealToken((writer) => writer.string(id));
}

function readArrival(path: string, value: unknown, zone: string): number {
  if (typeof value === 'string') return readTime(path, value, zone);
  return refuse('wrong-time', `${path} is no time.`, {
    path,
    expected: 'text such as "2026-11-30T08:00:00Z"',
    found: describe(value),
  });
}

function readNext(value: unknown): string {
  const id = typeof value === 'string' ? openToken(value, (reader) => reader.string()) : null;
  if (id !== null) return id;
  return refuse('wrong-next', 'next is not what an answer gave.', {
    path: 'next',
    expected: 'the whole next of an earlier answer',
    found: describe(value),
  });
}

/** Throws `Refused`. */
export function readReason(reason: unknown): string {
  const known = BAD_RECORD_REASONS.find((each) => each === reason);
  if (known !== undefined) return known;
  const meant = typeof reason === 'string' ? didYouMean(reason, BAD_RECORD_REASONS) : '.';
  return refuse(
    'wrong-reason',
    `No record is quarantined for the reason ${describe(reason)}${meant}`,
    {
      path: 'reason',
      expected: BAD_RECORD_REASONS.join(', '),
      found: describe(reason),
    },
  );
}

function readIds(ids: unknown): readonly string[] {
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= REDRIVE_IDS_MAX;
  if (!isList) {
    return refuse('wrong-ids', 'ids are those of quarantined records.', {
      path: 'ids',
      expected: `a list of 1 to ${REDRIVE_IDS_MAX} ids, as GET /v1/quarantine has them`,
      found: Array.isArray(ids) ? `a list of ${ids.length}` : describe(ids),
    });
  }
  for (const [index, id] of ids.entries()) {
    if (typeof id === 'string' && isQuarantineId(id)) continue;
    refuse('wrong-id', `ids[${index}] is no id of a quarantined record.`, {
      path: `ids[${index}]`,
      expected: 'an id as GET /v1/quarantine has it: slice/timeline/position',
      found: describe(id),
    });
  }
  return ids as string[];
}

function describe(value: unknown): string {
  const text = shownJson(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** What is nested too deep to be written has no text. */
export function shownJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}
