import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  adminUrlOption,
  awsOption,
  queryUrlOption,
  regionOption,
} from '../../../cli/option-values.ts';
import {
  type AdminPlaceOptions,
  adminPlace,
  type QueryPlace,
  queryPlace,
} from '../../../cli/query-place.ts';
import { UsageError } from '../../../cli/usage-error.ts';

const READS = 'https://abc123.lambda-url.eu-west-1.on.aws';
const ADMIN = 'https://def456.lambda-url.eu-west-1.on.aws';
const HERE = 'http://127.0.0.1:4580';

beforeEach(() => {
  for (const name of ['TIDEMARK_QUERY_URL', 'TIDEMARK_ADMIN_URL', 'AWS_REGION']) {
    vi.stubEnv(name, undefined);
  }
});

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('a query place', () => {
  it('on this machine is never signed', () => {
    const urls = [
      HERE,
      'http://localhost:1',
      'http://a.localhost',
      'http://[::1]:9',
      'https://127.1.2.3',
    ];
    for (const queryUrl of urls) {
      expect(queryPlace({ queryUrl, region: 'eu-west-1' })).toEqual({
        url: queryUrl,
        region: null,
      });
    }
  });

  it.each([
    [READS, 'eu-west-1'],
    [`${READS}/stage`, 'eu-west-1'],
    ['https://abc.lambda-url.us-gov-west-1.on.aws', 'us-gov-west-1'],
  ])('%s is signed for the region in its name', (queryUrl, region) => {
    expect(queryPlace({ queryUrl })).toEqual({ url: queryUrl, region });
  });

  it.each([
    'https://metrics.example.com',
    'https://127.0.0.1.example.com',
    'https://lambda-url.eu-west-1.on.aws',
    'https://abc.lambda-url.eu-west-1.on.aws.example.com',
  ])('%s is signed only if that is asked for', (queryUrl) => {
    expect(queryPlace({ queryUrl }).region).toBeNull();
    expect(queryPlace({ queryUrl, aws: true, region: 'eu-west-1' }).region).toBe('eu-west-1');
    vi.stubEnv('AWS_REGION', 'eu-north-1');
    expect(queryPlace({ queryUrl, aws: true }).region).toBe('eu-north-1');
  });

  it.each([
    [{ queryUrl: 'https://metrics.example.com', aws: true }, 'does not say its region'],
    [{ queryUrl: READS, region: 'us-east-1' }, 'is in eu-west-1'],
    [{ queryUrl: READS.replace('https', 'http') }, 'need https'],
    [{ queryUrl: 'http://metrics.example.com', aws: true, region: 'a' }, 'need https'],
    [{ queryUrl: HERE, aws: true }, 'with --query-url'],
  ])('%j is wrong usage', (options, says) => {
    expect(() => queryPlace(options)).toThrow(UsageError);
    expect(() => queryPlace(options)).toThrow(says);
  });
});

describe('an admin place', () => {
  it.each([
    ['by default', [], {}, HERE],
    ['of a local query URL', ['--query-url', 'http://localhost:1'], {}, 'http://localhost:1'],
    ['that is named', ['--query-url', READS, '--admin-url', ADMIN], {}, ADMIN],
    ['in the environment', ['--query-url', READS], { TIDEMARK_ADMIN_URL: ADMIN }, ADMIN],
    ['alone in the environment', [], { TIDEMARK_ADMIN_URL: ADMIN }, ADMIN],
    [
      'that the environment would lead away from this machine',
      ['--query-url', HERE],
      { TIDEMARK_ADMIN_URL: ADMIN },
      HERE,
    ],
    [
      'that is named beside a local query URL',
      ['--query-url', HERE, '--admin-url', ADMIN],
      {},
      ADMIN,
    ],
  ])('%s', (_, args, variables, url) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);

    expect(parse(args).url).toBe(url);
    expect(parse(args).region).toBe(url === ADMIN ? 'eu-west-1' : null);
  });

  it.each([
    ['a query', `${ADMIN}?x=1`, 'the URL alone'],
    ['a fragment', `${ADMIN}#top`, 'the URL alone'],
    ['a password', ADMIN.replace('https://', 'https://user:secret@'), 'never with these'],
  ])('has no %s', (_, url, message) => {
    expect(() => parse(['--admin-url', url])).toThrow(UsageError);
    expect(() => parse(['--admin-url', url])).toThrow(message);
    expect(() => parse(['--admin-url', url])).not.toThrow('secret');
  });

  it('is not in a region without a name', () => {
    expect(() => parse(['--admin-url', ADMIN, '--region', ''])).toThrow('--region is empty');
  });

  it('is not where queries of AWS go', () => {
    expect(() => parse(['--query-url', READS])).toThrow(UsageError);
    expect(() => parse(['--query-url', READS])).toThrow('with --admin-url or TIDEMARK_ADMIN_URL');
  });
});

function parse(args: string[]): QueryPlace {
  let place: QueryPlace | undefined;
  const command = new Command()
    .addOption(queryUrlOption())
    .addOption(adminUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .action((options: AdminPlaceOptions, self: Command) => {
      place = adminPlace(options, self);
    });
  command.parse(['node', 'tidemark', ...args]);
  if (place === undefined) throw new Error('the action did not run');
  return place;
}
