/**
 * What AWS says when a call does not come to the function, in words that a person can act on.
 */

export interface Refusal {
  readonly status: number;
  /** `x-amzn-errortype`, empty without one. */
  readonly errorType: string;
  readonly body: string;
  /** `date` of the answer, in milliseconds; null without one. */
  readonly answeredMs: number | null;
}

export interface RefusedCall {
  readonly url: string;
  /** Admin calls need another grant than reads. */
  readonly isAdmin: boolean;
  /** Who signed, and for which region; null if the call was not signed. */
  readonly signer: { readonly accessKeyId: string; readonly region: string } | null;
  readonly nowMs: number;
}

/** Null if the answer is none of AWS's own. */
export function refusalText(refusal: Refusal, call: RefusedCall): string | null {
  const { status, errorType } = refusal;
  const name = errorType.split(':', 1)[0] ?? '';
  const message = messageOf(refusal.body);
  const said = `${status}${name === '' ? '' : ` ${name}`}${message === '' ? '' : `: ${message}`}`;
  const hint = hintOf(refusal, `${name} ${message}`, call);
  return hint === null ? null : `${call.url} answered ${said}\n  ${hint}`;
}

/** What to do about credentials that cannot be had. */
export function noCredentialsText(what: string, cause: unknown): string {
  const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
  return `no AWS credentials were found, and ${what} must be signed: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; after 'aws sso login' if the profile wants that\n  ${why}`;
}

/** What to do about credentials or a clock that AWS refuses, whichever service was asked; null: neither. */
export function identityHint(
  said: string,
  accessKeyId: string | null,
  clockOffMs: number | null,
): string | null {
  const key = accessKeyId === null ? 'the credentials' : `access key ${accessKeyId}`;
  if (/Signature expired|not yet current|RequestExpired|RequestTimeTooSkewed/i.test(said)) {
    return `this machine's clock is ${clockText(clockOffMs)}: set it right, and try again`;
  }
  if (/ExpiredToken|token[^.]* (?:is|has) expired/i.test(said)) {
    return `${key} has expired: get new credentials, such as by 'aws sso login'`;
  }
  if (/UnrecognizedClient|InvalidClientTokenId|token[^.]* is invalid/i.test(said)) {
    return `AWS does not know ${key}: look at AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, one of which may be left over from another login`;
  }
  return null;
}

function hintOf({ status, answeredMs }: Refusal, said: string, call: RefusedCall): string | null {
  const { signer } = call;
  const offMs = answeredMs === null ? null : call.nowMs - answeredMs;
  const hint = identityHint(said, signer?.accessKeyId ?? null, offMs);
  if (hint !== null) return hint;
  if (/scoped to a (?:valid|correct) region/i.test(said)) {
    return `the call was signed for ${signer?.region ?? 'no region'}: name the region of the pipeline with --region`;
  }
  if (/InvalidSignature|SignatureDoesNotMatch/.test(said)) {
    return `the secret of access key ${signer?.accessKeyId ?? 'that signed'} is wrong, or something on the way changed the call`;
  }
  if (status === 403) return deniedHint(call);
  if (signer === null) return null;
  if (status === 404) return 'there is no such function URL: take it from the outputs of the stack';
  if (status === 429) return 'the function is at its limit of concurrency: try again in a moment';
  if (status >= 500) return 'the function failed or ran out of time: its log group says why';
  return null;
}

function deniedHint({ isAdmin, signer, url }: RefusedCall): string {
  const grant = isAdmin ? 'grantAdmin' : 'grantRead';
  if (signer === null) {
    return `the call was not signed: if ${url} leads to a function URL, sign with --aws`;
  }
  return `the call was signed by access key ${signer.accessKeyId} in ${signer.region}, which may not make it: grant its role ${grant} of the pipeline's construct (lambda:InvokeFunctionUrl and lambda:InvokeFunction on the function)`;
}

function clockText(offMs: number | null): string {
  if (offMs === null) return 'more than 5 minutes off';
  const minutes = Math.round(Math.abs(offMs) / 60_000);
  return `${minutes} minutes ${offMs < 0 ? 'behind' : 'ahead of'} AWS's`;
}

function messageOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (parsed === null || typeof parsed !== 'object') return '';
    const { message, Message } = parsed as { message?: unknown; Message?: unknown };
    const text = message ?? Message;
    return typeof text === 'string' ? text : '';
  } catch {
    return body.slice(0, SHOWN).trim();
  }
}

const SHOWN = 200;
