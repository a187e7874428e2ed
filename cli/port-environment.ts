/**
 * The environment in which AWS's SDKs, the AWS CLI and `tidemark` find the port of `tidemark dev` and nothing else: as
 * variables of a command that runs beside it, and as lines for a shell.
 *
 * Invariant: no setting that the environment had before leads a client past the port, so that no record meant for it goes
 * to AWS or to a proxy.
 */
import { basename } from 'node:path';

interface PortVariables {
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
}

/** Names of this machine, which no proxy can reach. */
const DIRECT_HOSTS = ['127.0.0.1', 'localhost', '::1', '[::1]'];
const PROXY_EXEMPTIONS = ['NO_PROXY', 'no_proxy'];

/** The variables of a command, made from those of this process. */
export function portEnvironment(
  url: string,
  region: string,
  from: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const { set, unset } = portVariables(url, region);
  const exempt = new Set(DIRECT_HOSTS);
  for (const name of PROXY_EXEMPTIONS) {
    for (const host of (from[name] ?? '').split(','))
      if (host.trim() !== '') exempt.add(host.trim());
  }
  return {
    ...from,
    ...set,
    ...Object.fromEntries(unset.map((name) => [name, undefined])),
    ...Object.fromEntries(PROXY_EXEMPTIONS.map((name) => [name, [...exempt].join(',')])),
  };
}

/** The same for a person to paste, in the words of the shell that `shell` is the path of. */
export function shellLines(url: string, region: string, shell: string): string[] {
  const { set, unset } = portVariables(url, region);
  const direct = DIRECT_HOSTS.join(',');
  const all = Object.entries(set);
  switch (basename(shell, '.exe')) {
    case 'fish':
      return [
        ...all.map(([name, value]) => `set -gx ${name} ${value}`),
        ...PROXY_EXEMPTIONS.map((name) => `set -gx ${name} "${direct},$${name}"`),
        `set -e ${unset.join(' ')}`,
      ];
    case 'csh':
    case 'tcsh':
      return [
        ...all.map(([name, value]) => `setenv ${name} ${value}`),
        ...PROXY_EXEMPTIONS.map((name) => `setenv ${name} "${direct}"`),
        ...unset.map((name) => `unsetenv ${name}`),
      ];
    case 'pwsh':
    case 'powershell':
      return [
        ...all.map(([name, value]) => `$env:${name} = '${value}'`),
        ...PROXY_EXEMPTIONS.map((name) => `$env:${name} = "${direct},$env:${name}"`),
        `Remove-Item -ErrorAction Ignore ${unset.map((name) => `Env:${name}`).join(', ')}`,
      ];
    default:
      return [
        `export ${all.map(([name, value]) => `${name}=${value}`).join(' ')}`,
        `export ${PROXY_EXEMPTIONS.map((name) => `${name}="${direct},$${name}"`).join(' ')}`,
        `unset ${unset.join(' ')}`,
      ];
  }
}

function portVariables(url: string, region: string): PortVariables {
  return {
    set: {
      AWS_ENDPOINT_URL_KINESIS: url,
      // Otherwise a client may be told to overlook the endpoint, and calls AWS.
      AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
      AWS_REGION: region,
      AWS_DEFAULT_REGION: region,
      // No key of AWS: what goes there all the same is refused.
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      TIDEMARK_QUERY_URL: url,
      TIDEMARK_ADMIN_URL: url,
    },
    unset: ['AWS_PROFILE', 'AWS_DEFAULT_PROFILE', 'AWS_SESSION_TOKEN', 'AWS_SECURITY_TOKEN'],
  };
}
