import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { awsFault, isPassing } from '../../../adapters/aws/aws-faults.ts';
import { ConfigurationFault, HeldFault } from '../../../core/faults.ts';

function errorOf(name: string, status: number | null = 400, message = 'said so'): Error {
  const $metadata = status === null ? {} : { httpStatusCode: status };
  return Object.assign(new Error(message), { name, $metadata });
}

const HINTS = {
  denied: /^grant the function/,
  missing: /^the resource does not exist/,
  region: /^the resource is in another region/,
  credentials: /^sign in/,
  key: /^the KMS key/,
};

const CONFIGURATION: [keyof typeof HINTS, string[]][] = [
  ['denied', ['AccessDenied', 'AccessDeniedException', 'AllAccessDisabled', 'NotAuthorized']],
  ['missing', ['ResourceNotFoundException', 'NoSuchBucket']],
  [
    'region',
    ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
  ],
  [
    'credentials',
    [
      ...['CredentialsProviderError', 'ExpiredToken', 'ExpiredTokenException'],
      ...['IncompleteSignature', 'InvalidAccessKeyId', 'InvalidClientTokenId'],
      ...['InvalidSignatureException', 'MissingAuthenticationToken', 'SignatureDoesNotMatch'],
      ...['UnrecognizedClientException', 'InvalidToken'],
    ],
  ],
  [
    'key',
    [
      ...['KMSAccessDeniedException', 'KMSDisabledException', 'KMSInvalidStateException'],
      ...['KMSNotFoundException', 'KMSOptInRequired'],
      ...['KMS.DisabledException', 'KMS.NotFoundException', 'KMS.KMSInvalidStateException'],
    ],
  ],
];

const PASSING = [
  ...['KMSThrottlingException', 'LimitExceededException', 'ProvisionedThroughputExceededException'],
  ...['RequestLimitExceeded', 'RequestThrottled', 'RequestThrottledException', 'SlowDown'],
  ...['Throttling', 'ThrottlingException', 'TooManyRequestsException', 'ResourceInUseException'],
  ...['KMS.ThrottlingException', 'ResourceConflictException', 'RequestExpired'],
  ...[
    'ReplicatedWriteConflictException',
    'OperationAborted',
    'ConditionalRequestConflict',
    'RequestTimeout',
  ],
  ...['RequestTimeoutException', 'RequestTimeTooSkewed', 'TimeoutError', 'AbortError'],
];

describe('awsFault', () => {
  it.each(CONFIGURATION.flatMap(([hint, names]) => names.map((name) => [name, hint] as const)))(
    '%s is a ConfigurationFault about what is %s',
    (name, hint) => {
      const error = errorOf(name);
      expect(awsFault('read HEAD', error)).toMatchObject({
        name: 'ConfigurationFault',
        message: `cannot read HEAD: ${name}: said so`,
        hint: expect.stringMatching(HINTS[hint]),
        cause: error,
      });
      expect(isPassing(error)).toBe(false);
    },
  );

  it.each(PASSING)('%s is a TransientFault', (name) => {
    for (const status of [400, 409, null]) {
      const fault = awsFault('read HEAD', errorOf(name, status));
      expect(fault).toMatchObject({
        name: 'TransientFault',
        message: `cannot read HEAD: ${name}: said so`,
        hint: expect.any(String),
      });
    }
    expect(isPassing(errorOf(name))).toBe(true);
  });

  it.each([500, 502, 503, 504, 408, 429])('status %d passes, whatever its name', (status) => {
    expect(awsFault('read', errorOf('Anything', status)).name).toBe('TransientFault');
  });

  it.each([
    [403, HINTS.denied],
    [301, HINTS.region],
    [307, HINTS.region],
  ])('status %d is a ConfigurationFault, whatever its name', (status, hint) => {
    expect(awsFault('read', errorOf('Anything', status))).toMatchObject({
      name: 'ConfigurationFault',
      hint: expect.stringMatching(hint),
    });
  });

  it.each([
    'ValidationException',
    'InvalidArgumentException',
    'NoSuchKey',
    'ConditionalCheckFailedException',
  ])('%s, which nobody took as an answer, is a bug of ours', (name) => {
    const error = errorOf(name);
    expect(awsFault('read HEAD', error)).toMatchObject({
      name: 'InvariantFault',
      message: `a-request-to-aws-is-valid: cannot read HEAD: ${name}: said so`,
      cause: error,
    });
  });

  it('an answer whose body broke off passes, though its status is 200', () => {
    expect(awsFault('read', errorOf('Error', 200, 'aborted')).name).toBe('TransientFault');
  });

  it('an error of the network passes, and is told by its code', () => {
    const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(awsFault('read HEAD', error)).toMatchObject({
      name: 'TransientFault',
      message: 'cannot read HEAD: ECONNREFUSED: connect ECONNREFUSED',
    });
  });

  it('what is no Error passes', () => {
    expect(awsFault('read', 'nonsense')).toMatchObject({
      name: 'TransientFault',
      message: 'cannot read: Error: nonsense',
    });
  });

  it.each([new TypeError('x is undefined'), new RangeError('too long')])(
    'a %s before anything was asked is a bug of ours',
    (error) => {
      expect(awsFault('read', error).name).toBe('InvariantFault');
    },
  );

  it('a denial that speaks of KMS is about the key', () => {
    const message = 'not authorized to perform: kms:Decrypt on the resource';
    for (const name of ['AccessDenied', 'AccessDeniedException']) {
      expect(awsFault('read', errorOf(name, 403, message), 'more')).toMatchObject({
        name: 'ConfigurationFault',
        hint: expect.stringMatching(HINTS.key),
      });
    }
  });

  it('a denial is told with the hint of who asked', () => {
    const fault = awsFault('read', errorOf('AccessDenied', 403), 'grant s3:ListBucket');
    expect(fault).toMatchObject({ name: 'ConfigurationFault', hint: 'grant s3:ListBucket' });
    const other = awsFault('read', errorOf('NoSuchBucket', 404), 'grant s3:ListBucket');
    expect(other).toMatchObject({ hint: expect.stringMatching(HINTS.missing) });
  });

  it('a table with other keys is none of a pipeline', () => {
    const message = 'The provided key element does not match the schema';
    expect(awsFault('read', errorOf('ValidationException', 400, message))).toMatchObject({
      name: 'ConfigurationFault',
      hint: 'this is no table of a pipeline: correct its name',
    });
  });

  it('a fault of ours stays what it is', () => {
    const fault = new HeldFault('held');
    expect(awsFault('read', fault)).toBe(fault);
  });

  it('a client without a region, or without credentials, is a ConfigurationFault', async () => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE', 'AWS_ACCESS_KEY_ID']) {
      vi.stubEnv(name, undefined);
    }
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) {
      vi.stubEnv(name, '/nowhere/at/all');
    }
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    const region = 'us-east-1';
    for (const options of [{}, { region }]) {
      const client = new DynamoDBClient({ maxAttempts: 1, ...options });
      const error = await client.send(new ListTablesCommand({})).catch((thrown) => thrown);
      const fault = awsFault('list', error);
      expect(fault).toBeInstanceOf(ConfigurationFault);
      expect(fault).toMatchObject({ hint: expect.stringMatching(HINTS.credentials) });
    }
    vi.unstubAllEnvs();
  });
});
