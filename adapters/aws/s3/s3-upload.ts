/**
 * An object of S3 in parts: nothing is under its key before the upload is completed, and `If-None-Match: *` makes that
 * conditional. What is begun and neither completed nor abandoned, the bucket's lifecycle rule deletes after a day.
 *
 * - After a lost answer the upload may be completed: S3 says 412, or that it knows no such upload. Then what is under the key decides.
 * - 409 says that another creation came between, and that the upload is void: the caller begins another one.
 */
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { assert } from '../../../core/assert.ts';
import { TransientFault } from '../../../core/faults.ts';
import { UPLOAD_PIECE_BYTES_MIN, UPLOAD_PIECES_MAX } from '../../../core/limits.ts';
import type { BlobUpload, Creation } from '../../../core/ports.ts';
import type { AwsCalls } from '../aws-calls.ts';

export interface S3UploadOptions {
  readonly client: S3Client;
  readonly calls: AwsCalls;
  readonly target: { readonly Bucket: string; readonly Key: string };
  /** Completes "cannot …". */
  readonly what: string;
  /** Something is under the key. */
  readonly isThere: () => Promise<boolean>;
}

export class S3Upload implements BlobUpload {
  readonly #options: S3UploadOptions;
  readonly #target: S3UploadOptions['target'] & { readonly UploadId: string };
  readonly #parts: CompletedPart[] = [];
  /** A part that is smaller than others may be was sent: it was the last. */
  #isOver = false;

  static async begin(options: S3UploadOptions): Promise<S3Upload> {
    const { client, calls, target, what } = options;
    // The checksums of the parts, which the SDK makes, are of the kind that the upload names.
    const command = new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'CRC32' });
    const { UploadId } = await calls.send(what, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    assert(UploadId !== undefined, 'an-upload-has-an-id', () => what);
    return new S3Upload(options, UploadId);
  }

  private constructor(options: S3UploadOptions, uploadId: string) {
    this.#options = options;
    this.#target = { ...options.target, UploadId: uploadId };
  }

  async write(piece: Uint8Array): Promise<void> {
    const PartNumber = this.#parts.length + 1;
    assert(!this.#isOver, 'only-the-last-piece-is-small');
    assert(PartNumber <= UPLOAD_PIECES_MAX, 'an-upload-has-few-pieces');
    this.#isOver = piece.length < UPLOAD_PIECE_BYTES_MIN;
    const { client, calls, what } = this.#options;
    const command = new UploadPartCommand({ ...this.#target, PartNumber, Body: piece });
    const { ETag, ChecksumCRC32 } = await calls.send(what, (abortSignal) =>
      client.send(command, { abortSignal }),
    );
    this.#parts.push({ PartNumber, ETag, ChecksumCRC32 });
  }

  async complete(): Promise<Creation> {
    const { client, calls, what, isThere } = this.#options;
    const command = new CompleteMultipartUploadCommand({
      ...this.#target,
      MultipartUpload: { Parts: this.#parts },
      IfNoneMatch: '*',
    });
    try {
      await calls.send(
        what,
        (abortSignal) => client.send(command, { abortSignal }),
        (error) => ANSWERS.has(nameOf(error)),
      );
      return 'created';
    } catch (error) {
      if (!ANSWERS.has(nameOf(error))) throw error;
      if (nameOf(error) === 'PreconditionFailed') await this.abandon();
      if (await isThere()) return 'exists';
      throw new TransientFault(`cannot ${what}: the upload was broken off (${nameOf(error)})`, {
        hint: 'it is begun anew; if that repeats, look for lifecycle rules of the bucket that abort uploads at once',
        cause: error,
      });
    }
  }

  async abandon(): Promise<void> {
    const { client, calls, what } = this.#options;
    const command = new AbortMultipartUploadCommand(this.#target);
    try {
      await calls.send(
        what,
        (abortSignal) => client.send(command, { abortSignal }),
        (error) => nameOf(error) === 'NoSuchUpload',
      );
    } catch (error) {
      if (nameOf(error) !== 'NoSuchUpload') throw error;
    }
  }
}

const ANSWERS: ReadonlySet<string> = new Set([
  'PreconditionFailed',
  'NoSuchUpload',
  'ConditionalRequestConflict',
]);

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
