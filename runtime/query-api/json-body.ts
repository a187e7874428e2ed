/**
 * The JSON of a POST to the query API. Parameters in the address are refused: what is not known is not ignored.
 */
import { problem } from '../http/problem.ts';
import type { PortRequest, PortResponse } from '../http/route.ts';

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly response: PortResponse };

const CHARACTERS_SHOWN = 40;

/** `example` is a body that would do; an empty one counts as `{}`. */
export function readJsonBody({ body, query }: PortRequest, example: string): JsonBody {
  const [parameter] = query.keys();
  if (parameter !== undefined) {
    const extras = { path: parameter, expected: 'no parameters', found: parameter };
    const detail = `There is no parameter '${parameter}'.`;
    return { ok: false, response: problem(400, 'unknown-parameter', detail, extras) };
  }
  const text = body.toString('utf8');
  try {
    return { ok: true, value: text.trim() === '' ? {} : JSON.parse(text) };
  } catch {
    const extras = { expected: example, found: text.slice(0, CHARACTERS_SHOWN) };
    return { ok: false, response: problem(400, 'not-json', 'The body is not JSON.', extras) };
  }
}
