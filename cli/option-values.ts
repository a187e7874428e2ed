/**
 * Options that mean the same in every command, and the parsing of their values.
 */
import { InvalidArgumentError, Option } from 'commander';

export const DEFAULT_PORT = 4580;
export const DEFAULT_URL = `http://127.0.0.1:${DEFAULT_PORT}`;

/** In the folder where a command runs. */
export const PIPELINE_FILE = 'tidemark.config.ts';

export const pipelineOption = () =>
  new Option('--pipeline <file>', 'the pipeline file').default(PIPELINE_FILE);

export const dataOption = () => new Option('--data <dir>', 'the data folder').default('.tidemark');

/** `tidemark dev -- CMD` sets the variables of these three, so that commands in CMD find it. */
export const queryUrlOption = () =>
  withVariable(
    new Option('--query-url <url>', 'where the query API is; function URLs of AWS are signed'),
    'TIDEMARK_QUERY_URL',
  )
    .default(DEFAULT_URL)
    .argParser(url);

export const adminUrlOption = () =>
  withVariable(
    new Option(
      '--admin-url <url>',
      'where the admin API is, if not at --query-url as on this machine',
    ),
    'TIDEMARK_ADMIN_URL',
  ).argParser(url);

export const kinesisEndpointOption = () =>
  withVariable(
    new Option('--kinesis-endpoint <url>', 'where the Kinesis API is'),
    'AWS_ENDPOINT_URL_KINESIS',
  )
    .default(DEFAULT_URL)
    .argParser(url);

/** An empty variable is one that is not set. */
function withVariable(option: Option, variable: string): Option {
  return process.env[variable] === '' ? option : option.env(variable);
}

export const awsOption = () =>
  new Option(
    '--aws',
    'sign calls to any other host too; *.lambda-url.REGION.on.aws is always signed; calls to this machine are never signed',
  );

export const regionOption = () =>
  new Option('--region <name>', 'the AWS region to sign for (default: the one that the URL names)');

export const jsonOption = () => new Option('--json', 'print JSON instead of text');

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

export function url(text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new InvalidArgumentError('expected a URL such as http://127.0.0.1:4580.');
  }
  return text.replace(/\/+$/, '');
}

/** Collects an option that may be given several times. */
export function collect(value: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), value];
}
