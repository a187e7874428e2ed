/**
 * Finds the route of a method and a path. Paths are matched segment by segment; a literal segment wins over `{name}`.
 */
import { assert } from '../../core/assert.ts';
import type { Route } from './route.ts';

export type Match =
  | {
      readonly outcome: 'found';
      readonly route: Route;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly outcome: 'no-path' }
  /** The path is served, but by other methods. */
  | { readonly outcome: 'no-method'; readonly allow: readonly string[] };

interface Pattern {
  readonly route: Route;
  readonly segments: readonly string[];
}

export class Router {
  readonly #patterns: readonly Pattern[];
  /** Routes without names, by method and path: what most requests hit. */
  readonly #literals = new Map<string, Route>();

  constructor(routes: readonly Route[]) {
    this.#patterns = routes.map((route) => ({ route, segments: route.path.split('/') }));
    for (const { route, segments } of this.#patterns) {
      if (segments.some(isName)) continue;
      const key = `${route.method} ${route.path}`;
      assert(!this.#literals.has(key), 'routes-are-distinct', () => key);
      this.#literals.set(key, route);
    }
  }

  /** HEAD is served by the route of GET. */
  match(method: string, path: string): Match {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const literal = this.#literals.get(`${wanted} ${path}`);
    if (literal !== undefined) return { outcome: 'found', route: literal, params: {} };
    const segments = path.split('/');
    const allow = new Set<string>();
    for (const { route, segments: pattern } of this.#patterns) {
      const params = paramsOf(pattern, segments);
      if (params === null) continue;
      if (route.method === wanted) return { outcome: 'found', route, params };
      allow.add(route.method);
    }
    if (allow.size === 0) return { outcome: 'no-path' };
    if (allow.has('GET')) allow.add('HEAD');
    return { outcome: 'no-method', allow: [...allow].sort() };
  }
}

function paramsOf(
  pattern: readonly string[],
  segments: readonly string[],
): Record<string, string> | null {
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const segment = segments[index] as string;
    if (!isName(wanted)) {
      if (wanted !== segment) return null;
      continue;
    }
    const value = decode(segment);
    if (value === null || value === '') return null;
    params[wanted.slice(1, -1)] = value;
  }
  return params;
}

function isName(segment: string): boolean {
  return segment.startsWith('{') && segment.endsWith('}');
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
