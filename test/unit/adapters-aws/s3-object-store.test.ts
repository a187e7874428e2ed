import { describe, expect, it } from 'vitest';
import { UPLOAD_PIECE_BYTES_MIN } from '../../../core/limits.ts';
import { patternOf } from '../../contract/contract.ts';
import { type AwsAnswer, refused, scriptedAws, xml } from './scripted-aws.ts';

const CUT: AwsAnswer = { cut: 'before' };
const BYTES = patternOf(100, 1);
const CREATED: AwsAnswer = { status: 200 };
const FOUND: AwsAnswer = { status: 200, body: BYTES };

describe('S3ObjectStore.create', () => {
  it('is conditional, and sends a checksum', async () => {
    const { objects, requests } = await scriptedAws([CREATED]);
    expect(await objects('pipelines/').create('slice/base/1', BYTES)).toBe('created');
    const [request] = requests;
    expect(request?.method).toBe('PUT');
    expect(request?.url).toBe('/flights/pipelines/slice/base/1?x-id=PutObject');
    expect(request?.headers['if-none-match']).toBe('*');
    expect(request?.headers['x-amz-checksum-crc32']).toMatch(/^[\w+/]{6}==$/);
    expect(new Uint8Array(request?.body ?? [])).toEqual(BYTES);
  });

  it('says exists for 412, and for its own creation whose answer was lost', async () => {
    const taken = refused(412, 'PreconditionFailed');
    const { objects, requests } = await scriptedAws([taken, CUT, taken]);
    expect(await objects().create('a', BYTES)).toBe('exists');
    expect(requests).toHaveLength(1);
    expect(await objects().create('a', BYTES)).toBe('exists');
    expect(requests).toHaveLength(3);
  });

  it('tries again after 409, a throttle, an error of S3 and a time-out', async () => {
    const { objects, requests } = await scriptedAws([
      ...[refused(409, 'ConditionalRequestConflict'), refused(503, 'SlowDown')],
      ...[refused(500, 'InternalError'), { hang: 'before' } as const, CREATED],
    ]);
    expect(await objects().create('a', BYTES)).toBe('created');
    for (const { headers, body } of requests) {
      expect(headers['if-none-match']).toBe('*');
      expect(new Uint8Array(body)).toEqual(BYTES);
    }
  });

  it.each([
    [404, 'NoSuchBucket', 'said so', /does not exist/],
    [403, 'AccessDenied', 'not authorized to perform: s3:PutObject', /^grant the function/],
    [403, 'AccessDenied', 'not authorized to perform: kms:GenerateDataKey', /KMS key/],
    [400, 'KMS.DisabledException', 'the key is disabled', /KMS key/],
    [301, 'PermanentRedirect', 'use another endpoint', /another region/],
    [403, 'InvalidAccessKeyId', 'no such key', /^sign in/],
  ])('%d %s (%s) is a ConfigurationFault', async (status, code, message, hint) => {
    const { objects, requests } = await scriptedAws([refused(status, code, message)]);
    await expect(objects().create('a', BYTES)).rejects.toMatchObject({
      name: 'ConfigurationFault',
      message: expect.stringContaining('cannot create a (S3 bucket flights): '),
      hint: expect.stringMatching(hint),
    });
    expect(requests).toHaveLength(1);
  });
});

describe('S3ObjectStore.read', () => {
  it('tells a missing key from a missing bucket and from a denial', async () => {
    const { objects, requests } = await scriptedAws([
      ...[refused(404, 'NoSuchKey'), refused(404, 'NoSuchBucket'), refused(403, 'AccessDenied')],
      refused(403, 'AccessDenied', 'not authorized to perform: kms:Decrypt'),
    ]);
    expect(await objects().read('a')).toBeNull();
    await expect(objects().read('a')).rejects.toMatchObject({ name: 'ConfigurationFault' });
    await expect(objects().read('a')).rejects.toMatchObject({
      name: 'ConfigurationFault',
      hint: expect.stringContaining('s3:ListBucket'),
    });
    await expect(objects().read('a')).rejects.toMatchObject({
      hint: expect.stringContaining('KMS key'),
    });
    expect(requests).toHaveLength(4);
  });

  it('fetches again what breaks off, does not end, or is not what was stored', async () => {
    const headers = { 'x-amz-checksum-crc32': 'AAAAAA==' };
    const { objects, requests } = await scriptedAws([
      ...[{ cut: 'within', headers } as const, { hang: 'within', headers } as const],
      ...[{ cut: 'within' } as const, { ...FOUND, headers }],
      FOUND,
    ]);
    expect(await objects().read('a')).toEqual(BYTES);
    expect(requests).toHaveLength(5);
    expect(requests[0]?.headers['x-amz-checksum-mode']).toBe('ENABLED');
  });

  it('throws a TransientFault when every body breaks off', async () => {
    const { objects } = await scriptedAws(() => ({ cut: 'within' }));
    await expect(objects().read('a')).rejects.toMatchObject({
      name: 'TransientFault',
      message: expect.stringContaining('cannot read a (S3 bucket flights): '),
    });
  });

  it('gives bytes that own their buffer', async () => {
    const { objects } = await scriptedAws([FOUND]);
    const read = (await objects().read('a')) as Uint8Array;
    expect(read.constructor).toBe(Uint8Array);
    expect(read.buffer.byteLength).toBe(BYTES.length);
  });
});

describe('S3ObjectStore.readRange', () => {
  it('asks for the range, of which HTTP names the last byte', async () => {
    const { objects, requests } = await scriptedAws([
      { status: 206, body: BYTES.subarray(3, 6) },
      refused(416, 'InvalidRange'),
    ]);
    expect(await objects().readRange('a', 3, 6)).toEqual(BYTES.subarray(3, 6));
    expect(await objects().readRange('a', 500, 600)).toEqual(new Uint8Array(0));
    expect(requests.map(({ headers }) => headers['range'])).toEqual(['bytes=3-5', 'bytes=500-599']);
  });

  it('knows of an empty range whether the key is there', async () => {
    const { objects, requests } = await scriptedAws([
      ...[{ status: 206, body: BYTES.subarray(4, 5) }, refused(416, 'InvalidRange')],
      ...[refused(404, 'NoSuchKey'), refused(403, 'AccessDenied')],
    ]);
    expect(await objects().readRange('a', 4, 4)).toEqual(new Uint8Array(0));
    expect(await objects().readRange('a', 400, 400)).toEqual(new Uint8Array(0));
    expect(await objects().readRange('a', 4, 4)).toBeNull();
    await expect(objects().readRange('a', 4, 4)).rejects.toThrow('cannot read a');
    expect(requests[0]?.headers['range']).toBe('bytes=4-4');
  });
});

describe('S3ObjectStore.list', () => {
  const content = (key: string) =>
    `<Contents><Key>${key}</Key><Size>5</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>`;

  it('goes on over pages, under its prefix, and leaves out what is not ours', async () => {
    const { objects, requests } = await scriptedAws([
      xml(
        `<ListBucketResult>${content('p/s/')}${content('p/s/1')}<NextContinuationToken>next</NextContinuationToken></ListBucketResult>`,
      ),
      refused(503, 'SlowDown'),
      xml(`<ListBucketResult>${content('p/s/2')}</ListBucketResult>`),
    ]);
    const createdMs = Date.UTC(2026, 0, 2, 3, 4, 5);
    expect(await objects('p/').list('s/', 's/0', 10)).toEqual([
      { key: 's/1', byteLength: 5, createdMs },
      { key: 's/2', byteLength: 5, createdMs },
    ]);
    const asked = requests.map(({ url }) =>
      Object.fromEntries(new URL(url, 'http://s3').searchParams),
    );
    const both = { 'list-type': '2', prefix: 'p/s/', 'start-after': 'p/s/0' };
    expect(asked).toEqual([
      { ...both, 'max-keys': '10' },
      { ...both, 'max-keys': '9', 'continuation-token': 'next' },
      { ...both, 'max-keys': '9', 'continuation-token': 'next' },
    ]);
  });

  it('asks for no more than is wanted, nor than S3 gives', async () => {
    const page = Array.from({ length: 1000 }, (_, at) => content(`k${at}`)).join('');
    const next = '<NextContinuationToken>next</NextContinuationToken>';
    const { objects, requests } = await scriptedAws(() =>
      xml(`<ListBucketResult>${page}${next}</ListBucketResult>`),
    );
    expect(await objects().list('', null, 1000)).toHaveLength(1000);
    expect(requests).toHaveLength(1);
    await objects().list('', null, 2000);
    expect(requests.map(({ url }) => /max-keys=(\d+)/.exec(url)?.[1])).toEqual([
      ...['1000', '1000', '1000'],
    ]);
  });
});

describe('S3ObjectStore.delete', () => {
  const DELETED = xml('<DeleteResult/>');
  const failedKey = (code: string) =>
    xml(
      `<DeleteResult><Error><Key>k7</Key><Code>${code}</Code><Message>said so</Message></Error></DeleteResult>`,
    );

  it('deletes 1,000 a call, none twice, and again what failed in passing', async () => {
    const { objects, requests } = await scriptedAws([
      ...[failedKey('SlowDown'), failedKey('InternalError'), DELETED, DELETED],
    ]);
    const keys = Array.from({ length: 1001 }, (_, at) => `k${at}`);
    await objects().delete([...keys, 'k0']);
    const counts = requests.map(
      ({ body }) => Buffer.from(body).toString().split('<Key>').length - 1,
    );
    expect(counts).toEqual([1000, 1000, 1000, 1]);
  });

  it('looks at what became of each key', async () => {
    const { objects } = await scriptedAws([failedKey('AccessDenied')]);
    await expect(objects().delete(['k6', 'k7'])).rejects.toMatchObject({
      name: 'ConfigurationFault',
      message: 'cannot delete 2 objects (S3 bucket flights): AccessDenied: k7: said so',
    });
  });

  it('asks nothing for no keys', async () => {
    const { objects, requests } = await scriptedAws([]);
    await objects().delete([]);
    expect(requests).toEqual([]);
  });
});

it('a key prefix ends in a slash', async () => {
  const { objects } = await scriptedAws([]);
  expect(() => objects('pipelines')).toThrow('a-key-prefix-ends-in-a-slash');
});

describe('S3ObjectStore.upload', () => {
  const PIECE = patternOf(UPLOAD_PIECE_BYTES_MIN, 2);
  const BEGUN = xml(
    '<InitiateMultipartUploadResult><UploadId>up/1</UploadId></InitiateMultipartUploadResult>',
  );
  const PART: AwsAnswer = { status: 200, headers: { etag: '"e1"' } };
  const COMPLETED = xml(
    '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>',
  );
  const DONE: AwsAnswer = { status: 204 };
  const NO_UPLOAD = refused(404, 'NoSuchUpload');

  it('sends parts with checksums, and completes them on the condition that nothing is there', async () => {
    const { objects, requests } = await scriptedAws([BEGUN, PART, PART, COMPLETED]);
    const upload = await objects('p/').upload('slice/run/1');
    await upload.write(PIECE);
    await upload.write(BYTES);
    expect(await upload.complete()).toBe('created');
    const [begin, first, second, end] = requests;
    expect(begin?.headers['x-amz-checksum-algorithm']).toBe('CRC32');
    for (const [index, request] of [first, second].entries()) {
      expect(request?.url).toContain(
        `/flights/p/slice/run/1?partNumber=${index + 1}&uploadId=up%2F1`,
      );
      expect(request?.headers['x-amz-checksum-crc32']).toMatch(/^[\w+/]{6}==$/);
    }
    expect(new Uint8Array(second?.body ?? [])).toEqual(BYTES);
    expect(end?.headers['if-none-match']).toBe('*');
    expect(String(end?.body)).toMatch(/<PartNumber>1<.*<PartNumber>2</s);
  });

  it('says exists where another was first, and gives up what it sent', async () => {
    const taken = refused(412, 'PreconditionFailed');
    const { objects, requests } = await scriptedAws([BEGUN, PART, taken, DONE, FOUND]);
    const upload = await objects().upload('a');
    await upload.write(PIECE);
    expect(await upload.complete()).toBe('exists');
    expect(requests[3]?.method).toBe('DELETE');
    expect(requests[4]?.headers['range']).toBe('bytes=0-0');
  });

  it('says exists for its own completion whose answer was lost', async () => {
    const { objects } = await scriptedAws([BEGUN, PART, CUT, NO_UPLOAD, FOUND]);
    const upload = await objects().upload('a');
    await upload.write(PIECE);
    expect(await upload.complete()).toBe('exists');
  });

  it.each([
    ['NoSuchUpload', NO_UPLOAD],
    ['ConditionalRequestConflict', refused(409, 'ConditionalRequestConflict')],
  ])('is transient where it was broken off: %s', async (name, answer) => {
    const { objects } = await scriptedAws([BEGUN, PART, answer, refused(404, 'NoSuchKey')]);
    const upload = await objects().upload('a');
    await upload.write(PIECE);
    await expect(upload.complete()).rejects.toMatchObject({
      name: 'TransientFault',
      message: expect.stringContaining(name),
    });
  });

  it('sends a part again after a throttle, under its own number', async () => {
    const { objects, requests } = await scriptedAws([BEGUN, refused(503, 'SlowDown'), PART]);
    const upload = await objects().upload('a');
    await upload.write(PIECE);
    expect(requests.slice(1).map(({ url }) => /partNumber=(\d+)/.exec(url)?.[1])).toEqual([
      '1',
      '1',
    ]);
  });

  it('is abandoned once, however often that is asked', async () => {
    const { objects } = await scriptedAws([BEGUN, DONE, NO_UPLOAD]);
    const upload = await objects().upload('a');
    await upload.abandon();
    await upload.abandon();
  });

  it('takes nothing behind a piece that S3 takes as the last one only', async () => {
    const { objects } = await scriptedAws([BEGUN, PART]);
    const upload = await objects().upload('a');
    await upload.write(BYTES);
    await expect(upload.write(PIECE)).rejects.toMatchObject({
      invariant: 'only-the-last-piece-is-small',
    });
  });
});
