/**
 * What changed between two pipelines, for a person whose changed file is refused.
 */
import type { PipelineJson } from './pipeline-json.ts';
import { canonicalJson } from './plan-json.ts';

/**
 * One line a change, such as "view delay_by_origin: window 1h → 2h"; none where both mean the same. Both are of
 * `planToJson`, so that defaults are spelled out on both sides.
 */
export function describeDifference(before: PipelineJson, after: PipelineJson): string[] {
  const { views: viewsBefore, ...restBefore } = before;
  const { views: viewsAfter, ...restAfter } = after;
  return [
    ...differences([], restBefore, restAfter).map(
      ({ path, change }) => `${path.join('.')} ${change}`,
    ),
    ...viewDifferences(viewsBefore, viewsAfter),
  ];
}

function viewDifferences(before: PipelineJson['views'], after: PipelineJson['views']): string[] {
  const lines: string[] = [];
  for (const name of namesOf(before, after)) {
    const [viewBefore, viewAfter] = [own(before, name), own(after, name)];
    if (viewBefore === undefined) lines.push(`view ${name}: added`);
    else if (viewAfter === undefined) lines.push(`view ${name}: removed`);
    else {
      for (const { path, change } of differences([], viewBefore, viewAfter)) {
        lines.push(`view ${name}: ${viewPart(path)} ${change}`);
      }
    }
  }
  return lines;
}

function viewPart([first = '', ...rest]: readonly string[]): string {
  return first === 'aggregates' ? `aggregate ${rest.join('.')}` : [first, ...rest].join('.');
}

interface Difference {
  readonly path: readonly string[];
  readonly change: string;
}

/** Descends into objects that both sides have, but shows windows and single aggregates whole. */
function differences(path: readonly string[], before: unknown, after: unknown): Difference[] {
  const isWhole = path[0] === 'window' || (path[0] === 'aggregates' && path.length === 2);
  if (!isWhole && isObject(before) && isObject(after)) {
    return namesOf(before, after).flatMap((name) => {
      return differences([...path, name], own(before, name), own(after, name));
    });
  }
  const [textBefore, textAfter] =
    path[0] === 'window' ? showWindows(before, after) : [show(before), show(after)];
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  if (path[0] === 'aggregates') {
    if (before === undefined) return [{ path, change: `added: ${textAfter}` }];
    if (after === undefined) return [{ path, change: `removed: ${textBefore}` }];
  }
  return [{ path, change: `${textBefore} → ${textAfter}` }];
}

/** By the size alone where both are of one kind, or one of them is of all time. */
function showWindows(before: unknown, after: unknown): [string, string] {
  const names = new Set(
    [before, after].flatMap((window) => (isObject(window) ? Object.keys(window) : [])),
  );
  const showWindow = (window: unknown): string => {
    if (!isObject(window)) return 'all time';
    return names.size === 1 ? show(Object.values(window)[0]) : show(window);
  };
  return [showWindow(before), showWindow(after)];
}

function show(value: unknown): string {
  if (value === undefined) return 'not set';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  if (!isObject(value)) return canonicalJson(value);
  return Object.entries(value)
    .map(([name, part]) => `${name} ${show(part)}`)
    .join(', ');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function namesOf(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}

function own<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
