/**
 * What is wrong with a pipeline file: where, what was found, what was expected. All problems are collected before any is
 * told, so that a person repairs a file once.
 */
import { describeValue } from './describe-value.ts';

export interface Problem {
  /** As one would reach it from the pipeline: `views.delay_by_origin.window.tumbling`; empty for the whole file. */
  readonly path: string;
  readonly found: string;
  readonly expected: string;
  readonly hint?: string;
}

export class ProblemList {
  readonly all: Problem[] = [];

  /** Notes that `value` lies at `path` instead of what is expected there. */
  add(path: string, value: unknown, expected: string, hint?: string): void {
    this.addFound(path, describeValue(value), expected, hint);
  }

  /** As `add`, with what was found in the caller's words. */
  addFound(path: string, found: string, expected: string, hint?: string): void {
    const problem = { path, found, expected };
    this.all.push(hint === undefined ? problem : { ...problem, hint });
  }
}

const PLAIN_NAME = /^[A-Za-z0-9_$-]+$/;

/** The path of a property of what lies at `path`. */
export function propertyPath(path: string, name: string): string {
  if (!PLAIN_NAME.test(name)) return `${path}[${describeValue(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** The path of an element of the array at `path`. */
export function elementPath(path: string, index: number): string {
  return `${path}[${index}]`;
}

const FORMATTED_MAX = 20;

/** The problems as text for a terminal, below a line that names the file. */
export function formatProblems(fileName: string, problems: readonly Problem[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const blocks = problems.slice(0, FORMATTED_MAX).map(formatProblem);
  const left = problems.length - blocks.length;
  if (left > 0) blocks.push(`  and ${left} more`);
  return [`${fileName} is not a valid pipeline (${count}):`, ...blocks].join('\n\n');
}

function formatProblem({ path, found, expected, hint }: Problem): string {
  const lines = [
    `  ${path === '' ? '(the whole file)' : path}`,
    `    found     ${found}`,
    `    expected  ${expected}`,
  ];
  if (hint !== undefined) lines.push(`    hint      ${hint}`);
  return lines.join('\n');
}
