/**
 * The page at `/` and `/healthz`.
 */
import { readFileSync } from 'node:fs';
import { json, type Route } from './http/route.ts';

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const SCRIPT_HEADERS = { 'content-type': 'text/javascript; charset=utf-8' };

const FILES = [
  { path: '/', file: 'index.html', headers: PAGE_HEADERS },
  { path: '/page.js', file: 'page.js', headers: SCRIPT_HEADERS },
  { path: '/texts.js', file: 'texts.js', headers: SCRIPT_HEADERS },
  { path: '/page.css', file: 'page.css', headers: { 'content-type': 'text/css; charset=utf-8' } },
];

export function pageRoutes(): Route[] {
  const pages = FILES.map(({ path, file, headers }): Route => {
    const body = readFileSync(new URL(`../console/${file}`, import.meta.url));
    return { method: 'GET', path, handle: () => ({ status: 200, headers, body }) };
  });
  return [{ method: 'GET', path: '/healthz', handle: () => json({ status: 'ok' }) }, ...pages];
}
