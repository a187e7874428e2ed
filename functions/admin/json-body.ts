/**
 * The JSON of a POST. Parameters in the address are refused: what is not known is not ignored.
 */
import { type Asked, asked, refuse, refuseUnknown } from '../../core/query/query-problem.ts';

const CHARACTERS_SHOWN = 40;

/** `example` is a body that would do; an empty one counts as `{}`. */
export function parseJsonBody(
  text: string,
  parameters: URLSearchParams,
  example: string,
): Asked<unknown> {
  return asked(() => {
    for (const name of parameters.keys()) refuseUnknown(name, []);
    try {
      return text.trim() === '' ? {} : JSON.parse(text);
    } catch {
      const found = text.slice(0, CHARACTERS_SHOWN);
      return refuse('not-json', 'The body is not JSON.', {
        path: 'body',
        expected: example,
        found,
      });
    }
  });
}
