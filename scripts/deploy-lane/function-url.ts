/**
 * A function URL on an emulator: the host name that AWS would resolve goes into the Host header instead.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { signRequest } from '../../cli/request-signer.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_REGION } from '../aws-emulator.ts';

/** The JSON of the answer. Throws what a problem says. */
export async function callFunctionUrl<T>(
  endpoint: string,
  functionUrl: string,
  path: string,
  body?: object,
): Promise<T> {
  const text = body === undefined ? null : JSON.stringify(body);
  const method = body === undefined ? 'GET' : 'POST';
  const { host } = new URL(functionUrl);
  const unsigned = {
    url: `https://${host}${path}`,
    method,
    headers: { 'content-type': 'application/json' },
    body: text,
  } as const;
  const signed = await signRequest(unsigned, EMULATOR_CREDENTIALS, EMULATOR_REGION, new Date());
  const { pathname, search } = new URL(signed.url);
  const { hostname, port } = new URL(endpoint);
  const headers = { ...signed.headers, host };
  const sent = request({ hostname, port, path: pathname + search, method, headers });
  sent.end(text ?? undefined);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = (await response.toArray()).join('');
  if (response.statusCode !== undefined && response.statusCode < 300)
    return JSON.parse(answer) as T;
  throw new Error(`${path} answered ${response.statusCode}: ${answer}`);
}
