/**
 * Immutable blobs as objects of S3, under a prefix of the bucket.
 *
 * - `If-None-Match: *` makes a creation conditional: 412 says that the key is taken; 409, that another creation is under
 *   way, and is tried again.
 * - The SDK's default checksums are on: bytes that were damaged on their way are refused, and fetched again.
 * - Needs s3:ListBucket on the bucket: without it S3 answers 403 for a key that is not there, and a store that cannot tell
 *   throws.
 */
import {
  DeleteObjectsCommand,
  type _Error as DeletionError,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { assert } from '../../../core/assert.ts';
import {
  type BlobUpload,
  type Creation,
  isBlobKey,
  type ObjectStore,
  type StoredObject,
} from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';
import { awsFault } from '../aws-faults.ts';
import { S3Upload } from './s3-upload.ts';

/** S3's quotas. */
const LIST_MAX = 1000;
const DELETE_MAX = 1000;
const READ_DENIED =
  'grant the function s3:GetObject on the objects, and s3:ListBucket on the bucket: without it S3 says so for a key that is not there';

export interface S3ObjectStoreOptions {
  readonly client: S3Client;
  readonly bucket: string;
  /** What all keys begin with: empty, or ends in `/`. */
  readonly keyPrefix: string;
  /** Whose attempts last as long as the largest blob needs. */
  readonly calls: AwsCalls;
}

export class S3ObjectStore implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #keyPrefix: string;
  readonly #calls: AwsCalls;

  constructor({ client, bucket, keyPrefix, calls }: S3ObjectStoreOptions) {
    assert(keyPrefix === '' || keyPrefix.endsWith('/'), 'a-key-prefix-ends-in-a-slash', () =>
      JSON.stringify(keyPrefix),
    );
    this.#client = client;
    this.#bucket = bucket;
    this.#keyPrefix = keyPrefix;
    this.#calls = calls;
  }

  async create(key: string, bytes: Uint8Array): Promise<Creation> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: this.#pathOf(key),
      Body: bytes,
      IfNoneMatch: '*',
    });
    try {
      await this.#calls.send(
        this.#to(`create ${key}`),
        (abortSignal) => this.#client.send(command, { abortSignal }),
        (error) => isNamed(error, 'PreconditionFailed'),
      );
      return 'created';
    } catch (error) {
      if (isNamed(error, 'PreconditionFailed')) return 'exists';
      throw error;
    }
  }

  async upload(key: string): Promise<BlobUpload> {
    return S3Upload.begin({
      client: this.#client,
      calls: this.#calls,
      target: { Bucket: this.#bucket, Key: this.#pathOf(key) },
      what: this.#to(`create ${key}`),
      isThere: async () => (await this.readRange(key, 0, 1)) !== null,
    });
  }

  async read(key: string): Promise<Uint8Array | null> {
    return this.#get(key, undefined);
  }

  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    assert(
      from >= 0 && from <= to,
      'a-range-does-not-end-before-it-begins',
      () => `${from}..${to}`,
    );
    // HTTP knows no empty range; one byte tells whether the key is there.
    const bytes = await this.#get(key, `bytes=${from}-${Math.max(from, to - 1)}`);
    return from === to && bytes !== null ? new Uint8Array(0) : bytes;
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    assert(limit > 0, 'list-limit-is-positive');
    const found: StoredObject[] = [];
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: this.#keyPrefix + prefix,
        MaxKeys: Math.min(limit - found.length, LIST_MAX),
        ...(after === null || after === '' ? {} : { StartAfter: this.#keyPrefix + after }),
        ...(token === undefined ? {} : { ContinuationToken: token }),
      });
      const answer = await this.#calls.send(this.#to(`list ${prefix}`), (abortSignal) =>
        this.#client.send(command, { abortSignal }),
      );
      for (const { Key = '', Size = 0, LastModified } of answer.Contents ?? []) {
        const key = Key.slice(this.#keyPrefix.length);
        // Such as the empty objects by which consoles show folders.
        if (!isBlobKey(key) || LastModified === undefined) continue;
        found.push({ key, byteLength: Size, createdMs: LastModified.getTime() });
      }
      token = answer.NextContinuationToken;
    } while (token !== undefined && found.length < limit);
    return found;
  }

  async delete(keys: readonly string[]): Promise<void> {
    const paths = [...new Set(keys.map((key) => this.#pathOf(key)))];
    for (let at = 0; at < paths.length; at += DELETE_MAX) {
      const command = new DeleteObjectsCommand({
        Bucket: this.#bucket,
        Delete: {
          Objects: paths.slice(at, at + DELETE_MAX).map((path) => ({ Key: path })),
          Quiet: true,
        },
      });
      await this.#calls.send(this.#to(`delete ${keys.length} objects`), async (abortSignal) => {
        const [error] = (await this.#client.send(command, { abortSignal })).Errors ?? [];
        if (error !== undefined) throw asThrown(error);
      });
    }
  }

  async #get(key: string, range: string | undefined): Promise<Uint8Array | null> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: this.#pathOf(key),
      ...(range === undefined ? {} : { Range: range }),
    });
    try {
      return await this.#calls.send(
        this.#to(`read ${key}`),
        async (abortSignal) => {
          const { Body } = await this.#client.send(command, { abortSignal });
          // Within the attempt: a body that breaks off is fetched again.
          return (await Body?.transformToByteArray()) ?? new Uint8Array(0);
        },
        (error) => isNamed(error, 'NoSuchKey', 'InvalidRange', 'AccessDenied'),
      );
    } catch (error) {
      if (isNamed(error, 'NoSuchKey')) return null;
      // The range lies behind the end.
      if (isNamed(error, 'InvalidRange')) return new Uint8Array(0);
      if (isNamed(error, 'AccessDenied')) {
        throw awsFault(this.#to(`read ${key}`), error, READ_DENIED);
      }
      throw error;
    }
  }

  #pathOf(key: string): string {
    assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
    return this.#keyPrefix + key;
  }

  #to(what: string): string {
    return `${what} (S3 bucket ${this.#bucket})`;
  }
}

function isNamed(error: unknown, ...names: readonly string[]): error is Error {
  return error instanceof Error && names.includes(error.name);
}

/** Why one key of many was not deleted, as the SDK would throw it. */
function asThrown({ Key, Code, Message }: DeletionError): Error {
  const error = new Error(`${Key}: ${Message}`);
  error.name = Code ?? 'InternalError';
  return error;
}
