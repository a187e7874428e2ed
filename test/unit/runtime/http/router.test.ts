import { describe, expect, it } from 'vitest';
import { json, type Route } from '../../../../runtime/http/route.ts';
import { Router } from '../../../../runtime/http/router.ts';

const route = (method: Route['method'], path: string): Route => ({
  method,
  path,
  handle: () => json(path),
});

const views = route('GET', '/v1/views');
const view = route('GET', '/v1/views/{view}');
const newest = route('GET', '/v1/views/newest');
const redrive = route('POST', '/v1/quarantine/{slice}/{id}/redrive');
const router = new Router([views, view, newest, redrive]);

describe('the router', () => {
  it('finds a literal path', () => {
    expect(router.match('GET', '/v1/views')).toEqual({
      outcome: 'found',
      route: views,
      params: {},
    });
  });

  it('takes what stands in the place of a name, decoded', () => {
    const match = router.match('GET', '/v1/views/a%2Fb%20%C3%A9');
    expect(match).toEqual({ outcome: 'found', route: view, params: { view: 'a/b é' } });
    const several = router.match('POST', '/v1/quarantine/s0/7/redrive');
    expect(several).toMatchObject({ route: redrive, params: { slice: 's0', id: '7' } });
  });

  it('prefers a literal segment to a name', () => {
    expect(router.match('GET', '/v1/views/newest')).toMatchObject({ route: newest, params: {} });
  });

  it('serves HEAD by the route of GET', () => {
    expect(router.match('HEAD', '/v1/views')).toMatchObject({ outcome: 'found', route: views });
  });

  it.each([
    '/v1/views/',
    '/v1/view',
    '/v1/views/a/b',
    '',
    '/v1/views/%E0%A4%A',
    'http://a/v1/views',
  ])('knows nothing at %j', (path) => {
    expect(router.match('GET', path)).toEqual({ outcome: 'no-path' });
  });

  it('says which methods a path takes', () => {
    expect(router.match('POST', '/v1/views/a')).toEqual({
      outcome: 'no-method',
      allow: ['GET', 'HEAD'],
    });
    expect(router.match('OPTIONS', '/v1/quarantine/s0/7/redrive')).toEqual({
      outcome: 'no-method',
      allow: ['POST'],
    });
  });

  it('refuses two routes of one method and path', () => {
    expect(() => new Router([views, views])).toThrow(/routes-are-distinct/);
  });
});
