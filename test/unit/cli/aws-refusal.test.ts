import { describe, expect, it } from 'vitest';
import { type RefusedCall, refusalText } from '../../../cli/aws-refusal.ts';

const URL = 'https://abc123.lambda-url.eu-west-1.on.aws';
const NOW_MS = Date.UTC(2026, 2, 1, 12);
const call: RefusedCall = {
  url: URL,
  isAdmin: false,
  signer: { accessKeyId: 'AKID', region: 'eu-west-1' },
  nowMs: NOW_MS,
};

const refused = (
  status: number,
  errorType: string,
  message: string,
  other: Partial<RefusedCall> = {},
) =>
  refusalText(
    {
      status,
      errorType,
      body: JSON.stringify({ Message: message }),
      answeredMs: NOW_MS + 1_200_000,
    },
    { ...call, ...other },
  );

describe('a refusal by AWS', () => {
  it('of a signed call says what was said, who signed and which grant is missing', () => {
    const text = refused(403, 'AccessDeniedException', 'Forbidden');

    expect(text).toBe(
      `${URL} answered 403 AccessDeniedException: Forbidden\n  the call was signed by access key AKID in eu-west-1, which may not make it: grant its role grantRead of the pipeline's construct (lambda:InvokeFunctionUrl and lambda:InvokeFunction on the function)`,
    );
    expect(refused(403, '', 'Forbidden', { isAdmin: true })).toContain('grantAdmin');
  });

  it('of a call that nobody signed says so', () => {
    expect(refused(403, 'AccessDeniedException', 'Forbidden', { signer: null })).toContain(
      'the call was not signed: if',
    );
  });

  it.each([
    [
      'InvalidSignatureException:http://internal',
      'Signature expired: 20260301T120000Z is now earlier than 20260301T121500Z',
      "this machine's clock is 20 minutes behind AWS's",
    ],
    ['InvalidSignatureException', 'Signature not yet current', 'set it right'],
    [
      'ExpiredTokenException',
      'The security token included in the request is expired',
      'aws sso login',
    ],
    [
      'UnrecognizedClientException',
      'The security token included in the request is invalid.',
      'AWS does not know access key AKID',
    ],
    [
      'InvalidSignatureException',
      "Credential should be scoped to a valid region, not 'us-east-1'.",
      'the call was signed for eu-west-1: name the region of the pipeline with --region',
    ],
    [
      'InvalidSignatureException',
      'The request signature we calculated does not match',
      'the secret of access key AKID is wrong',
    ],
  ])('%s: %s is not taken for a missing grant', (errorType, message, says) => {
    const text = refused(403, errorType, message);

    expect(text).toContain(message);
    expect(text).toContain(says);
    expect(text).not.toContain('grant');
    expect(text).not.toContain('internal');
  });

  it.each([
    [404, '', 'no such function URL'],
    [429, 'TooManyRequestsException', 'at its limit of concurrency'],
    [502, '', 'the function failed'],
  ])('with %i says what to do', (status, errorType, says) => {
    expect(refused(status, errorType, '')).toContain(says);
  });

  it.each([400, 413])('with %i is left to the API', (status) => {
    expect(refused(status, '', 'no')).toBeNull();
  });

  it.each([404, 429, 502])('with %i of a call that nobody signed is left to the API', (status) => {
    expect(refused(status, '', 'no', { signer: null })).toBeNull();
  });

  it('is shown in part where it is a page', () => {
    const page = { status: 502, errorType: '', body: `<html>${'x'.repeat(999)}`, answeredMs: null };

    expect(refusalText(page, call)?.length).toBeLessThan(400);
  });

  it('without a date still tells of the clock', () => {
    const body = '{"message":"Signature expired: …"}';

    expect(refusalText({ status: 403, errorType: '', body, answeredMs: null }, call)).toContain(
      'clock is more than 5 minutes off',
    );
  });
});
