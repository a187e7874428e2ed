import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListShardsCommand } from '@aws-sdk/client-kinesis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { kinesisClient } from '../../../cli/kinesis-client.ts';
import { putFailureText, refusalText } from '../../../cli/put-failure.ts';
import { RecordFileError } from '../../../cli/records/file-record.ts';
import { withoutCredentials } from './no-credentials.ts';

const DONE = '7 records were acknowledged before it';
const aws = {
  aws: true,
  kinesisEndpoint: 'http://127.0.0.1:4580',
  stream: 'flights',
  region: 'eu-west-1',
};

function named(name: string, message: string, headers: Record<string, string> = {}): Error {
  return Object.assign(new Error(message), { name, $response: { headers } });
}

describe('a put to AWS that failed', () => {
  it.each([
    [
      named('ResourceNotFoundException', 'Stream flights under account 1 not found.'),
      "there is no stream 'flights' in eu-west-1 of this account: look at --stream, at --region",
    ],
    [named('AccessDeniedException', 'User is not authorized'), 'grant kinesis:PutRecords on it'],
    [named('KMSAccessDeniedException', 'no'), 'grant kms:GenerateDataKey on it'],
    [
      named('Error', 'getaddrinfo ENOTFOUND kinesis.eu-west-9.amazonaws.com'),
      'there is no Kinesis in eu-west-1, or no way to it from here: look at --region',
    ],
    [named('ExpiredTokenException', 'The security token is expired'), 'aws sso login'],
    [named('UnrecognizedClientException', 'no'), 'AWS does not know the credentials'],
    [
      named('InvalidSignatureException', 'Signature expired: …'),
      'clock is more than 5 minutes off',
    ],
  ])('%s: what to do', (error, says) => {
    const text = putFailureText(error, aws, DONE);

    expect(text).toContain(error.message);
    expect(text).toContain(DONE);
    expect(text).toContain(says);
  });

  it('says how far the clock is off where the answer has a date', () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    const error = named('InvalidSignatureException', 'Signature expired: …', { date });

    expect(putFailureText(error, aws, DONE)).toContain("clock is 60 minutes behind AWS's");
  });

  it('for another reason is told as it is', () => {
    expect(putFailureText(named('ValidationException', 'no\nmore'), aws, DONE)).toBe(
      `ValidationException: no (${DONE})`,
    );
  });
});

describe('a put to this machine that failed', () => {
  const here = { ...aws, aws: false };

  it.each([
    'connect ECONNREFUSED 127.0.0.1:4580',
    'The pending stream has been canceled (caused by: connect ECONNREFUSED 127.0.0.1:4580)',
  ])('says who should be there: %s', (message) => {
    expect(putFailureText(new Error(message), here, DONE)).toBe(
      `no Kinesis API answers at http://127.0.0.1:4580 (${DONE}): start one with 'npx tidemark dev', or name another place with --kinesis-endpoint\n  connection refused`,
    );
  });

  it('is told nothing of accounts', () => {
    expect(putFailureText(named('ResourceNotFoundException', 'none'), here, DONE)).toBe(
      `ResourceNotFoundException: none (${DONE})`,
    );
  });
});

describe("the SDK's own rules", () => {
  let home = '';

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'tidemark-home-'));
    withoutCredentials(home);
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true });
  });

  async function failureOf(region?: string): Promise<string> {
    const client = kinesisClient({
      aws: true,
      endpoint: aws.kinesisEndpoint,
      ...(region === undefined ? {} : { region }),
    });
    const error = await client.send(new ListShardsCommand({ StreamName: 'flights' })).then(
      () => new Error('it was sent'),
      (refused: unknown) => refused,
    );
    client.destroy();
    return putFailureText(error, { ...aws, region: region ?? null }, DONE);
  }

  it('that find no credentials end in a message that names them', async () => {
    expect(await failureOf('eu-west-1')).toContain(
      'no AWS credentials were found, and calls of Kinesis must be signed: set AWS_PROFILE',
    );
  });

  it('that find no region end in a message that names it', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKID');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');

    expect(await failureOf()).toContain(
      'name the region of the stream with --region or AWS_REGION',
    );
  });
});

describe('a file that is refused', () => {
  const cutOff = new RecordFileError('a.gz is cut off');

  it('says where to go on, also where the error names no record', () => {
    expect(refusalText(cutOff, { acknowledgedCount: 7, goOnFrom: 9 })).toBe(
      'a.gz is cut off\n  7 records before it were put, and nothing after it: fix it and add --from-line 9',
    );
    const wrong = new RecordFileError('line 8 is wrong', 8);
    expect(refusalText(wrong, { acknowledgedCount: 1, goOnFrom: 8 })).toBe(
      'line 8 is wrong\n  1 record before it was put, and nothing after it: fix it and add --from-line 8, or skip it with --from-line 9',
    );
  });

  it('of which nothing was put is read from its start', () => {
    expect(refusalText(cutOff, { acknowledgedCount: 0, goOnFrom: 1 })).toBe(
      'a.gz is cut off\n  nothing was put',
    );
  });
});
