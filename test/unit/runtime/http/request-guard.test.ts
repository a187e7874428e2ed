import { describe, expect, it } from 'vitest';
import {
  type GuardedRequest,
  refusalOf,
  repeatedHeaders,
} from '../../../../runtime/http/request-guard.ts';

const NONE: ReadonlySet<string> = new Set();

function refusal(request: Partial<GuardedRequest>, allowHosts = NONE) {
  return refusalOf(
    {
      method: 'GET',
      path: '/v1/status',
      authorities: ['127.0.0.1:4580'],
      origin: undefined,
      fetchSite: undefined,
      contentType: undefined,
      repeated: [],
      ...request,
    },
    allowHosts,
  );
}

describe('the guard of hosts', () => {
  it.each([
    'localhost',
    'localhost:4580',
    'LOCALHOST:1',
    '127.0.0.1',
    '127.0.0.1:80',
    '[::1]',
    '[::1]:9',
  ])('lets %s in', (host) => {
    expect(refusal({ authorities: [host] })).toBeNull();
  });

  it.each([
    'example.com',
    'example.com:4580',
    'localhost.example.com',
    '127.0.0.1.example.com',
    'localhost@example.com',
    'localhost:4580:1',
    'localhost:999999',
    'localhost.',
    '[::2]',
    '0.0.0.0',
    ' localhost',
    '',
  ])('refuses %j', (host) => {
    expect(refusal({ authorities: [host] })).toMatchObject({
      status: 403,
      code: 'host-not-allowed',
      detail: expect.stringContaining('--allow-host'),
    });
  });

  it('refuses two names that differ, one that is foreign, and none', () => {
    for (const authorities of [
      ['localhost', 'example.com'],
      ['localhost:4580', 'localhost'],
      ['localhost', '127.0.0.1'],
    ]) {
      expect(refusal({ authorities })).toMatchObject({ status: 400, code: 'hosts-differ' });
    }
    expect(refusal({ authorities: ['localhost:1', 'LOCALHOST:1'] })).toBeNull();
    expect(refusal({ authorities: ['example.com', 'example.com'] })?.code).toBe('host-not-allowed');
    expect(refusal({ authorities: [] })?.code).toBe('host-missing');
  });

  it('lets in what --allow-host names, at any port and in any case', () => {
    const allow = new Set(['build.example.com']);
    expect(refusal({ authorities: ['Build.Example.com:80'] }, allow)).toBeNull();
    expect(refusal({ authorities: ['example.com'] }, allow)?.code).toBe('host-not-allowed');
  });
});

describe('the guard of sites', () => {
  it('refuses a fetch across sites', () => {
    expect(refusal({ fetchSite: 'cross-site' })).toMatchObject({ status: 403, code: 'cross-site' });
  });

  it.each(['same-origin', 'none'])('lets in a fetch of site %s', (fetchSite) => {
    expect(refusal({ fetchSite })).toBeNull();
  });

  it('lets in the page of this server', () => {
    expect(refusal({ origin: 'http://127.0.0.1:4580' })).toBeNull();
    const proxied = { authorities: ['Build.example.com'], origin: 'https://build.example.com' };
    expect(refusal(proxied, new Set(['build.example.com']))).toBeNull();
  });

  it.each([
    'null',
    'http://example.com',
    'http://127.0.0.1',
    'http://127.0.0.1:3000',
    'http://localhost:4580',
    'file://127.0.0.1:4580',
    'http://127.0.0.1:4580/path',
    '',
  ])('refuses the origin %j', (origin) => {
    expect(refusal({ origin })).toMatchObject({ status: 403, code: 'origin-not-allowed' });
  });
});

describe('the guard of content types', () => {
  const post = (path: string, contentType: string | undefined) =>
    refusal({ method: 'POST', path, contentType });

  it.each(['application/json', 'Application/JSON; charset=utf-8'])('takes %s', (contentType) => {
    expect(post('/v1/checkpoint', contentType)).toBeNull();
  });

  it.each([undefined, 'text/plain', 'application/jsonp', 'multipart/form-data', ''])(
    'refuses %j for what changes something',
    (contentType) => {
      expect(post('/v1/checkpoint', contentType)).toMatchObject({ status: 415 });
    },
  );

  it('asks for none outside the API and for none of a GET', () => {
    expect(post('/', 'application/x-amz-json-1.1')).toBeNull();
    expect(refusal({ method: 'GET', path: '/v1/status' })).toBeNull();
  });
});

describe('the guard of what is ambiguous', () => {
  it('refuses what is said twice, and what is no path', () => {
    expect(refusal({ repeated: ['host'] })).toMatchObject({ status: 400, code: 'repeated-header' });
    for (const path of ['http://localhost:4580/v1/status', 'localhost:4580', '*', '']) {
      expect(refusal({ path })).toMatchObject({ status: 400, code: 'wrong-target' });
    }
  });

  it('knows which headers must not be repeated, in any case', () => {
    const twice = (name: string) => repeatedHeaders([name, 'a', 'x', 'y', name.toUpperCase(), 'a']);
    for (const name of ['host', 'origin', 'content-type', 'content-length', 'sec-fetch-site']) {
      expect(twice(name)).toEqual([name]);
    }
    expect(twice('accept')).toEqual([]);
    expect(repeatedHeaders(['Host', 'a', 'Origin', 'b'])).toEqual([]);
  });
});
