/**
 * Why `tidemark put` could not put, in words that a person can act on.
 */
import { identityHint, noCredentialsText } from './aws-refusal.ts';
import { countText } from './count-text.ts';
import type { RecordFileError } from './records/file-record.ts';

export interface PutTarget {
  readonly aws: boolean;
  readonly kinesisEndpoint: string;
  readonly stream: string;
  readonly region: string | null;
}

/** `done` says how much went well before. */
export function putFailureText(error: unknown, target: PutTarget, done: string): string {
  const text = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
  if (!target.aws && isConnectionError(error)) {
    const reason = text.includes('ECONNREFUSED') ? 'connection refused' : text;
    return `no Kinesis API answers at ${target.kinesisEndpoint} (${done}): start one with 'npx tidemark dev', or name another place with --kinesis-endpoint\n  ${reason}`;
  }
  const name = error instanceof Error && error.name !== 'Error' ? error.name : '';
  if (name === 'CredentialsProviderError') return noCredentialsText('calls of Kinesis', error);
  const said = `${name === '' ? '' : `${name}: `}${text} (${done})`;
  const hint = target.aws ? awsHint(error, name, text, target) : null;
  return hint === null ? said : `${said}\n  ${hint}`;
}

/** Why records of a file could not be read; `goOnFrom` is where a run goes on if the error names no record. */
export function refusalText(
  { message, number }: RecordFileError,
  { acknowledgedCount, goOnFrom }: { acknowledgedCount: number; goOnFrom: number },
): string {
  if (acknowledgedCount === 0) return `${message}\n  nothing was put`;
  const done = `${countText(acknowledgedCount, 'record')} before it ${acknowledgedCount === 1 ? 'was' : 'were'} put, and nothing after it`;
  const next =
    number === null
      ? `fix it and add --from-line ${goOnFrom}`
      : `fix it and add --from-line ${number}, or skip it with --from-line ${number + 1}`;
  return `${message}\n  ${done}: ${next}`;
}

function awsHint(
  error: unknown,
  name: string,
  text: string,
  { stream, region }: PutTarget,
): string | null {
  const where = region === null ? 'the region' : region;
  if (text.startsWith('Region is missing')) {
    return 'name the region of the stream with --region or AWS_REGION';
  }
  if (name === 'ResourceNotFoundException') {
    return `there is no stream '${stream}' in ${where} of this account: look at --stream, at --region, and at whose credentials these are`;
  }
  if (name === 'AccessDeniedException') {
    return `these credentials may not put into '${stream}': grant kinesis:PutRecords on it`;
  }
  if (name.startsWith('KMS')) {
    return `the key of '${stream}' does not let these credentials in: grant kms:GenerateDataKey on it`;
  }
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) {
    return `there is no Kinesis in ${where}, or no way to it from here: look at --region and the network`;
  }
  return identityHint(`${name} ${text}`, null, clockOffMs(error));
}

/** By how much this machine's clock is ahead, as the SDK found out; null if it did not. */
function clockOffMs(error: unknown): number | null {
  const { $response } = error as { $response?: { headers?: Record<string, string> } };
  const answeredMs = Date.parse($response?.headers?.['date'] ?? '');
  return Number.isNaN(answeredMs) ? null : Date.now() - answeredMs;
}

/** The connection failed, or what answers there speaks something else. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /ECONNREFUSED|ECONNRESET|ENOTFOUND|Protocol error|SSL routines|stream has been canceled/.test(
    error.message,
  );
}
