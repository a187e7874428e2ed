/**
 * `fetch` for addresses of this machine. Node's own goes through a proxy where the environment names one
 * (`NODE_USE_ENV_PROXY`), which leads away from this machine.
 */
import { Agent, request } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

export interface DirectRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal?: AbortSignal;
}

/** Rejects as `fetch` does where nothing answers. Follows no redirects. */
export function fetchDirect(
  url: string,
  { method, headers, body, signal }: DirectRequest,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    // An agent of its own knows no proxy.
    const options = {
      method,
      headers,
      agent: new Agent(),
      ...(signal === undefined ? {} : { signal }),
    };
    const asked = request(url, options, (answer) => {
      const status = answer.statusCode ?? 0;
      const answered = Object.entries(answer.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      const isEmpty = [204, 205, 304].includes(status);
      const stream = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
      resolve(new Response(stream, { status, headers: answered }));
    });
    asked.once('error', reject);
    asked.end(body ?? undefined);
  });
}
