/**
 * Many HEADs, of which some may be damaged: a damaged one must not hide the others.
 */
import type { HeadItem } from '../ports.ts';
import { type Head, parseHead } from './head.ts';

export interface ParsedHeads {
  readonly heads: Head[];
  /** What was thrown of the others. */
  readonly failures: unknown[];
}

export function parseHeads(items: readonly HeadItem[]): ParsedHeads {
  const heads: Head[] = [];
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      heads.push(parseHead(item));
    } catch (fault) {
      failures.push(fault);
    }
  }
  return { heads, failures };
}
