/**
 * The one place where an error of the AWS SDK becomes a fault, chosen by what the caller must do. Errors that are answers
 * (a condition that does not hold, a key that is not there, an iterator that expired) are taken by those who asked, before.
 */
import { ConfigurationFault, InvariantFault, isFault, TransientFault } from '../../core/faults.ts';

/**
 * `what` completes "cannot …": what was to be done, and to which resource. `deniedHint` says more of a denial than that the
 * action must be granted.
 */
export function awsFault(what: string, error: unknown, deniedHint = DENIED): Error {
  if (error instanceof Error && isFault(error)) return error;
  const { name, message, status } = describeError(error);
  const text = `cannot ${what}: ${name}: ${message}`;
  const hint = configurationHint(name, message, deniedHint);
  if (hint !== undefined) return new ConfigurationFault(text, { hint, cause: error });
  const passing = PASSING.get(name);
  if (passing !== undefined) return new TransientFault(text, { hint: passing, cause: error });
  if (isBug(error, status)) return invalidRequest(text, error);
  if (status === null || status < 300 || status >= 500 || status === 408 || status === 429) {
    return new TransientFault(text, {
      hint: 'AWS did not answer as asked; it comes again',
      cause: error,
    });
  }
  if (status === 403) return new ConfigurationFault(text, { hint: DENIED, cause: error });
  if (status === 301 || status === 307) {
    return new ConfigurationFault(text, { hint: WRONG_REGION, cause: error });
  }
  return invalidRequest(text, error);
}

/** True for what may succeed if it is asked again in a moment. */
export function isPassing(error: unknown): boolean {
  return awsFault('ask', error) instanceof TransientFault;
}

function invalidRequest(text: string, cause: unknown): InvariantFault {
  const fault = new InvariantFault('a-request-to-aws-is-valid', text);
  fault.cause = cause;
  return fault;
}

/** Thrown by code of ours or of the SDK before anything was asked: no other attempt ends otherwise. */
function isBug(error: unknown, status: number | null): boolean {
  return status === null && (error instanceof TypeError || error instanceof RangeError);
}

function configurationHint(name: string, message: string, deniedHint: string): string | undefined {
  // As S3 passes on what KMS said.
  if (name.startsWith('KMS.') && !PASSING.has(name)) return KEY;
  const hint = CONFIGURATION.get(name);
  // S3 and DynamoDB tell by these words alone that not they refuse, but the key that they encrypt with.
  if (hint === DENIED) return /\bkms:/i.test(message) ? KEY : deniedHint;
  // These have no names of their own.
  if (message === 'Region is missing') return CREDENTIALS;
  return /key element does not match the schema/.test(message) ? OTHER_TABLE : hint;
}

interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  /** Null if no answer came; below 300 if its body broke off. */
  readonly status: number | null;
}

function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), status: null };
  const { $metadata, code } = error as {
    $metadata?: { httpStatusCode?: number };
    code?: unknown;
  };
  const status = $metadata?.httpStatusCode ?? null;
  const isNamed = error.name !== 'Error' || typeof code !== 'string';
  return { name: isNamed ? error.name : (code as string), message: error.message, status };
}

const DENIED = 'grant the function this action on the resource; docs/operations.md has the table';
const WRONG_REGION =
  'the resource is in another region: deploy the pipeline where its stream and bucket are';
const MISSING =
  'the resource does not exist in this account and region: deploy the stack, or correct its name';
const OTHER_TABLE = 'this is no table of a pipeline: correct its name';
const CREDENTIALS = 'sign in, or give credentials and a region by the usual AWS_ variables';
const KEY = 'the KMS key refuses, is disabled or gone: enable it, and let the role use it';

const CONFIGURATION = new Map<string, string>([
  ['AccessDenied', DENIED],
  ['AccessDeniedException', DENIED],
  ['AllAccessDisabled', DENIED],
  ['NotAuthorized', DENIED],
  ['ResourceNotFoundException', MISSING],
  ['NoSuchBucket', MISSING],
  ['PermanentRedirect', WRONG_REGION],
  ['AuthorizationHeaderMalformed', WRONG_REGION],
  ['IllegalLocationConstraintException', WRONG_REGION],
  ['CredentialsProviderError', CREDENTIALS],
  ['ExpiredToken', CREDENTIALS],
  ['ExpiredTokenException', CREDENTIALS],
  ['IncompleteSignature', CREDENTIALS],
  ['InvalidAccessKeyId', CREDENTIALS],
  ['InvalidClientTokenId', CREDENTIALS],
  ['InvalidSignatureException', CREDENTIALS],
  ['InvalidToken', CREDENTIALS],
  ['MissingAuthenticationToken', CREDENTIALS],
  ['SignatureDoesNotMatch', CREDENTIALS],
  ['UnrecognizedClientException', CREDENTIALS],
  ['KMSAccessDeniedException', KEY],
  ['KMSDisabledException', KEY],
  ['KMSInvalidStateException', KEY],
  ['KMSNotFoundException', KEY],
  ['KMSOptInRequired', KEY],
]);

const BUSY = 'more was asked than the service or its settings allow; it comes again';
const LOST = 'no answer came in time, so it may have been done or not; it comes again';
const CHANGING = 'the resource is being changed; it comes again';
const CLOCK = 'the clock of this machine is wrong';

/** What carries a status below 500, or none, and passes all the same. */
const PASSING = new Map<string, string>([
  ['KMSThrottlingException', BUSY],
  ['KMS.ThrottlingException', BUSY],
  ['LimitExceededException', BUSY],
  ['ProvisionedThroughputExceededException', BUSY],
  ['RequestLimitExceeded', BUSY],
  ['RequestThrottled', BUSY],
  ['RequestThrottledException', BUSY],
  ['SlowDown', BUSY],
  ['Throttling', BUSY],
  ['ThrottlingException', BUSY],
  ['TooManyRequestsException', BUSY],
  ['ReplicatedWriteConflictException', BUSY],
  ['ResourceConflictException', CHANGING],
  ['ResourceInUseException', CHANGING],
  ['OperationAborted', BUSY],
  ['ConditionalRequestConflict', BUSY],
  ['RequestTimeout', LOST],
  ['RequestTimeoutException', LOST],
  ['RequestExpired', CLOCK],
  ['RequestTimeTooSkewed', CLOCK],
  ['TimeoutError', LOST],
  ['AbortError', LOST],
]);
