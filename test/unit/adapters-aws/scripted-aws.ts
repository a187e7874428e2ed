/**
 * A server on the loopback address that the SDK's own clients ask, and that answers as a test says: so what is tested is what
 * the SDK makes of an answer, of one that breaks off, and of none.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { AwsCalls, CLIENT_SETTINGS } from '../../../adapters/aws/aws-calls.ts';
import { DynamoTable } from '../../../adapters/aws/dynamodb/dynamo-table.ts';
import { S3ObjectStore } from '../../../adapters/aws/s3/s3-object-store.ts';

export interface AwsRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** DynamoDB's operation; S3 has none. */
  readonly operation: string;
  readonly body: Uint8Array;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the SDK wrote, for a test to look at.
  readonly json: any;
}

export type AwsAnswer =
  | {
      readonly status: number;
      readonly body?: string | Uint8Array;
      readonly headers?: Record<string, string>;
    }
  /** The connection ends: before an answer, or within its body of 100 bytes. */
  | { readonly cut: 'before' | 'within'; readonly headers?: Record<string, string> }
  /** Nothing comes, or the body does not end. */
  | { readonly hang: 'before' | 'within'; readonly headers?: Record<string, string> };

type Script = readonly AwsAnswer[] | ((request: AwsRequest) => AwsAnswer);

export interface ScriptedAws {
  /** In the order they came. */
  readonly requests: readonly AwsRequest[];
  readonly table: DynamoTable;
  readonly s3: S3Client;
  objects(keyPrefix?: string): S3ObjectStore;
}

const SETTINGS = {
  ...CLIENT_SETTINGS,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
};
const CALLS = new AwsCalls({ timeLeftMs: () => 10_000, pauseMs: 1, attemptMsMax: 500 });

/** Answers one by one, and then no more; or by what is asked. */
export async function scriptedAws(script: Script): Promise<ScriptedAws> {
  const requests: AwsRequest[] = [];
  const answerTo = async (incoming: IncomingMessage, response: ServerResponse) => {
    const request = await toRequest(incoming);
    requests.push(request);
    const answer = typeof script === 'function' ? script(request) : script[requests.length - 1];
    give(answer ?? { status: 400, body: '{"__type":"TheScriptHasEnded"}' }, response);
  };
  const server = createServer((incoming, response) => void answerTo(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dynamo = new DynamoDBClient({ ...SETTINGS, endpoint });
  const s3 = new S3Client({ ...SETTINGS, endpoint, forcePathStyle: true });
  onTestFinished(() => {
    dynamo.destroy();
    s3.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    requests,
    s3,
    table: new DynamoTable({ client: dynamo, tableName: 'flights', calls: CALLS }),
    objects: (keyPrefix = '') =>
      new S3ObjectStore({ client: s3, bucket: 'flights', keyPrefix, calls: CALLS }),
  };
}

/** DynamoDB's answers. */
export function ok(body: object = {}): AwsAnswer {
  return { status: 200, body: JSON.stringify(body) };
}

export function failed(name: string, message = 'said so', more: object = {}): AwsAnswer {
  const __type = `com.amazonaws.dynamodb.v20120810#${name}`;
  return { status: 400, body: JSON.stringify({ __type, message, ...more }) };
}

/** S3's. */
export function xml(body: string, status = 200): AwsAnswer {
  return { status, body: `<?xml version="1.0"?>${body}` };
}

export function refused(status: number, code: string, message = 'said so'): AwsAnswer {
  return xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`, status);
}

async function toRequest(incoming: IncomingMessage): Promise<AwsRequest> {
  const body = await buffer(incoming);
  const target = incoming.headers['x-amz-target'];
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    headers: incoming.headers,
    operation: typeof target === 'string' ? (target.split('.')[1] ?? '') : '',
    body,
    json: typeof target === 'string' ? JSON.parse(body.toString()) : null,
  };
}

function give(answer: AwsAnswer, response: ServerResponse): void {
  if ('status' in answer) {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
    return;
  }
  const isWithin = 'cut' in answer ? answer.cut === 'within' : answer.hang === 'within';
  if (isWithin) {
    response.writeHead(200, { 'content-length': '100', ...answer.headers });
    response.write('{"Item":');
  }
  if ('cut' in answer) setTimeout(() => response.destroy(), isWithin ? 20 : 0);
}
