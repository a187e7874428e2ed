/**
 * Calls of the query API, with errors that a person can act on.
 */

interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly expected?: unknown;
  readonly found?: unknown;
  readonly path?: string;
}

/** The JSON answer of a GET, or of a POST with a body. */
export async function callQueryApi<T>(queryUrl: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`${queryUrl}${path}`, requestOf(body));
  } catch (cause) {
    const message = `nothing answers at ${queryUrl}: start it with 'tidemark dev', or name another place with --query-url`;
    throw new Error(message, { cause });
  }
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    throw new Error(`${queryUrl} went away while it answered: try again`, { cause });
  }
  if (response.ok) return JSON.parse(text) as T;
  throw new Error(messageOf(response.status, text));
}

function requestOf(body: unknown): RequestInit {
  if (body === undefined) return {};
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', headers, body: JSON.stringify(body) };
}

function messageOf(status: number, text: string): string {
  let problem: Problem;
  try {
    problem = JSON.parse(text) as Problem;
  } catch {
    return `the query API answered ${status}: ${text.slice(0, 200)}`;
  }
  const lines = [problem.detail ?? problem.title ?? `the query API answered ${status}`];
  if (problem.path !== undefined) lines.push(`  at       ${problem.path}`);
  if (problem.expected !== undefined) lines.push(`  expected ${asText(problem.expected)}`);
  if (problem.found !== undefined) lines.push(`  found    ${asText(problem.found)}`);
  return lines.join('\n');
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
