/**
 * Why a query is not answered: what application/problem+json says. `code` is for programs, `detail` for people.
 */
import { nearestWord } from '../definition/spelling.ts';
import {
  CorruptStateFault,
  LostStateFault,
  NewerFormatFault,
  OlderFormatFault,
  StreamMismatchFault,
  TransientFault,
} from '../faults.ts';

export interface QueryProblem {
  readonly status: 400 | 404 | 405 | 410 | 500 | 503;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
  /** The parameter that was wrong. */
  readonly path?: string;
  readonly expected?: string;
  readonly found?: string;
}

export type Asked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: QueryProblem };

/** Thrown inside a parser, caught where it begins: what it reads is refused. */
export class Refused extends Error {
  readonly problem: QueryProblem;

  constructor(problem: QueryProblem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** What `parse` returns, or the problem that it refused with. */
export function asked<T>(parse: () => T): Asked<T> {
  try {
    return { ok: true, value: parse() };
  } catch (error) {
    if (error instanceof Refused) return { ok: false, problem: error.problem };
    throw error;
  }
}

/** A wrong parameter: `detail` says why, `expected` what would do. */
export function refuse(
  code: string,
  detail: string,
  where: { readonly path: string; readonly expected: string; readonly found: string },
): never {
  throw new Refused({ status: 400, title: 'Bad Request', code, detail, ...where });
}

const LATER = new Map([['asOf', 'asOf is not supported in this version: leave it out.']]);

/** A parameter that does not exist; `known` are those that do. */
export function refuseUnknown(name: string, known: readonly string[]): never {
  const isField = known.includes(`key.${name}`);
  const meant = isField ? `: did you mean 'key.${name}'?` : didYouMean(name, known);
  const detail = LATER.get(name) ?? `There is no parameter '${name}'${meant}`;
  const expected = known.length === 0 ? 'no parameters' : known.join(', ');
  return refuse('unknown-parameter', detail, { path: name, expected, found: name });
}

export function refuseRepeated(name: string, text: string): never {
  const where = { path: name, expected: `${name} once`, found: text };
  return refuse('repeated-parameter', `${name} was given twice.`, where);
}

/** The end of a sentence about a word that is not known. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const nearest = nearestWord(word, candidates);
  return nearest === null ? '.' : `: did you mean '${nearest}'?`;
}

export function gone(detail: string, path: string): QueryProblem {
  return { status: 410, title: 'Gone', code: 'snapshot-gone', detail, path };
}

/** What `run` resolves to, or the problem that its refusal or its fault is; a bug is thrown. */
export async function guarded<T>(run: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (fault) {
    const problem = fault instanceof Refused ? fault.problem : problemOfFault(fault);
    if (problem === null) throw fault;
    return { ok: false, problem };
  }
}

/** What a fault tells the caller; null for a bug, which is no answer. */
function problemOfFault(fault: unknown): QueryProblem | null {
  if (fault instanceof TransientFault) {
    const detail = withHint(fault);
    return { status: 503, title: 'Service Unavailable', code: 'try-again', detail };
  }
  if (fault instanceof CorruptStateFault) {
    const mend = '`tidemark checkpoint` has its owner write it anew, from what is sound';
    return broken('corrupt-state', `${withHint(fault)}. ${mend}`);
  }
  if (fault instanceof StreamMismatchFault) return broken('stream-mismatch', withHint(fault));
  if (fault instanceof LostStateFault) return broken('lost-state', withHint(fault));
  if (fault instanceof NewerFormatFault) return broken('newer-format', withHint(fault));
  if (fault instanceof OlderFormatFault) return broken('older-format', withHint(fault));
  return null;
}

function broken(code: string, detail: string): QueryProblem {
  return { status: 500, title: 'Internal Server Error', code, detail };
}

/** What a fault says, and what to do about it. */
export function withHint(fault: {
  readonly message: string;
  readonly hint: string | undefined;
}): string {
  return fault.hint === undefined ? fault.message : `${fault.message}: ${fault.hint}`;
}
