/**
 * Where a command asks, and whether its calls are signed. Function URLs of AWS are, by the region in their name; this
 * machine never is; any other host only with `--aws`, since a signature would tell it who we are.
 */
import type { Command } from 'commander';
import { UsageError } from './usage-error.ts';

export interface QueryPlace {
  readonly url: string;
  /** The region to sign for; null: calls are not signed. */
  readonly region: string | null;
  /** It is the admin API, which needs another grant than reads. */
  readonly isAdmin?: boolean;
}

export interface PlaceOptions {
  readonly queryUrl: string;
  readonly aws?: boolean;
  readonly region?: string;
}

export interface AdminPlaceOptions extends PlaceOptions {
  readonly adminUrl?: string;
}

/** Where reads go. */
export function queryPlace({ queryUrl, aws, region }: PlaceOptions): QueryPlace {
  return placeOf('--query-url', queryUrl, aws ?? false, region);
}

/**
 * Where checkpoints, redrives and questions about quarantined data go. What is said on the command line comes before the environment, so that a command to
 * this machine never reaches the pipeline that a variable names.
 */
export function adminPlace(options: AdminPlaceOptions, command: Command): QueryPlace {
  const { queryUrl, adminUrl, aws = false, region } = options;
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
  const isHere = isLoopback(new URL(queryUrl));
  const staysHere = isHere && isGiven('queryUrl') && !isGiven('adminUrl');
  const url = adminUrl !== undefined && !staysHere ? adminUrl : isHere ? queryUrl : null;
  if (url !== null) return { ...placeOf('--admin-url', url, aws, region), isAdmin: true };
  throw new UsageError(
    `${queryUrl} answers queries only: name the pipeline's admin URL, an output of its stack that ends in AdminUrl, with --admin-url or TIDEMARK_ADMIN_URL`,
  );
}

const FUNCTION_URL_HOST = /^[a-z0-9]+\.lambda-url\.([a-z0-9-]+)\.on\.aws\.?$/;

function placeOf(
  option: string,
  text: string,
  aws: boolean,
  region: string | undefined,
): QueryPlace {
  const url = new URL(text);
  if (region === '') throw new UsageError('--region is empty: name one, or leave it out');
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(
      `${option} names a user or a password: calls are signed with AWS credentials, never with these`,
    );
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError(
      `${option} ${text}: the URL alone, without what follows ? or #; commands add their own`,
    );
  }
  if (isLoopback(url)) {
    if (!aws) return { url: text, region: null };
    throw new UsageError(
      `--aws: ${text} is on this machine, and calls to it are never signed; name the pipeline's function URL, an output of its stack, with ${option}`,
    );
  }
  const own = FUNCTION_URL_HOST.exec(url.hostname)?.[1];
  if (own === undefined && !aws) return { url: text, region: null };
  if (url.protocol !== 'https:') {
    throw new UsageError(
      `${option} ${text}: signed calls need https, so that they cannot be read on the way`,
    );
  }
  if (own !== undefined && region !== undefined && region !== own) {
    throw new UsageError(
      `--region ${region}: ${url.hostname} is in ${own}, and a signature for another region is refused; leave --region out`,
    );
  }
  const signedFor = own ?? region ?? process.env['AWS_REGION'];
  if (signedFor === undefined) {
    throw new UsageError(
      `--aws: ${url.hostname} does not say its region; name it with --region or AWS_REGION`,
    );
  }
  return { url: text, region: signedFor };
}

export function isLoopback({ hostname }: URL): boolean {
  return /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname);
}
