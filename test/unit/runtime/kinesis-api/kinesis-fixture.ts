/** Calls the Kinesis API without HTTP. */
import type { LocalStreamOptions } from '../../../../adapters/local/stream/local-stream.ts';
import { kinesisRoute } from '../../../../runtime/kinesis-api/kinesis-api.ts';
import { openStream, TestClock } from '../../adapters-local/stream-fixture.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export function openApi(options: Partial<LocalStreamOptions> = {}) {
  const clock = new TestClock();
  const stream = openStream({ clock, ...options });
  const route = kinesisRoute({ stream, clock, region: 'eu-central-1' });

  const send = async (headers: Record<string, string>, body: string | Buffer): Promise<Reply> => {
    const answer = await route.handle({
      method: 'POST',
      path: '/',
      params: {},
      query: new URLSearchParams(),
      headers,
      body: Buffer.from(body),
      signal: new AbortController().signal,
    });
    return { ...answer, body: JSON.parse(answer.body as string) };
  };
  const call = (operation: string, input: unknown): Promise<Reply> =>
    send(
      {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': `Kinesis_20131202.${operation}`,
      },
      JSON.stringify(input),
    );
  return { clock, stream, route, send, call };
}

export const base64 = (data: string | Uint8Array) => Buffer.from(data).toString('base64');
