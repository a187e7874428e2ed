import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { portEnvironment, shellLines } from '../../../cli/port-environment.ts';

const run = promisify(execFile);
const url = 'http://127.0.0.1:4580';
/** All that could lead a client elsewhere. */
const MISLEADING = {
  AWS_PROFILE: 'production',
  AWS_DEFAULT_PROFILE: 'production',
  AWS_SESSION_TOKEN: 'real',
  AWS_SECURITY_TOKEN: 'real',
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
  HTTP_PROXY: 'http://proxy.example:3128',
  NO_PROXY: 'example.org, 10.0.0.1',
  TIDEMARK_ADMIN_URL: 'https://abc.lambda-url.eu-west-1.on.aws',
  OTHER: 'kept',
};
const EXPECTED = {
  AWS_ENDPOINT_URL_KINESIS: url,
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'false',
  AWS_REGION: 'eu-west-1',
  AWS_DEFAULT_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: 'local',
  TIDEMARK_QUERY_URL: url,
  TIDEMARK_ADMIN_URL: url,
  AWS_PROFILE: undefined,
  AWS_DEFAULT_PROFILE: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_SECURITY_TOKEN: undefined,
  HTTP_PROXY: 'http://proxy.example:3128',
  OTHER: 'kept',
};

describe('the environment of a command beside tidemark dev', () => {
  it('leads every client to the port, whatever its variables named before', () => {
    const hosts = '127.0.0.1,localhost,::1,[::1],example.org,10.0.0.1';
    expect(portEnvironment(url, 'eu-west-1', MISLEADING)).toEqual({
      ...EXPECTED,
      NO_PROXY: hosts,
      no_proxy: hosts,
    });
  });

  it('is what the lines for a shell make', async () => {
    const lines = shellLines(url, 'eu-west-1', '/bin/bash');
    const printed = `"${process.execPath}" -p 'JSON.stringify(process.env)'`;
    const { stdout } = await run('sh', ['-c', [...lines, printed].join('\n')], { env: MISLEADING });
    const made = JSON.parse(stdout);
    for (const [name, value] of Object.entries(EXPECTED)) expect(made[name], name).toBe(value);
    expect(made.NO_PROXY).toBe('127.0.0.1,localhost,::1,[::1],example.org, 10.0.0.1');
    expect(made.no_proxy).toMatch(/^127\.0\.0\.1,localhost,::1,\[::1\]/);
  });

  it.each([
    ['/usr/bin/fish', `set -gx AWS_ENDPOINT_URL_KINESIS ${url}`, 'set -e AWS_PROFILE'],
    ['/bin/tcsh', `setenv AWS_ENDPOINT_URL_KINESIS ${url}`, 'unsetenv AWS_PROFILE'],
    ['pwsh.exe', `$env:AWS_ENDPOINT_URL_KINESIS = '${url}'`, 'Env:AWS_PROFILE'],
    ['/bin/zsh', `export AWS_ENDPOINT_URL_KINESIS=${url}`, 'unset AWS_PROFILE'],
  ])('is told in the words of %s', (shell, sets, unsets) => {
    const lines = shellLines(url, 'eu-west-1', shell).join('\n');
    expect(lines).toContain(sets);
    expect(lines).toContain(unsets);
  });
});
