/**
 * What Tidemark knows of one kind of window. Each kind is one descriptor in this folder and one line of the list in
 * window-kinds.ts. `test/unit/definition/kinds/window-kinds.test.ts` is the contract that every descriptor keeps.
 */
import type { WindowAssigner } from '../../time/window.ts';
import type { ProblemList } from '../problem.ts';
import type { FoldOrder } from './fold-order.ts';

export interface WindowDescriptor<
  Window extends { readonly kind: string } = { readonly kind: string },
> {
  readonly kind: Window['kind'];
  /** What which entry a record becomes part of depends on, besides the record. */
  readonly foldOrder: FoldOrder;
  /** The properties of the pipeline file's "window", the first of which chooses this kind. None: what no "window" means. */
  readonly properties: readonly string[];
  /** `path` is the window's. */
  read(properties: ReadonlyMap<string, unknown>, path: string, problems: ProblemList): Window;
  /** What `read` reads as this window again; undefined where no "window" means it. */
  toJson(window: Window): object | undefined;
  /** For a person: `windows of 1h`. */
  describe(window: Window): string;
  /** Null: it never ends, so no record is late, and nothing is closed. */
  span(window: Window): WindowSpan | null;
  createAssigner(window: Window, zone: string): WindowAssigner;
}

export interface WindowSpan {
  /** From the start of a window to its end, days as 24 hours. */
  readonly lengthMs: number;
  /** Whole days of the pipeline's zone; 0: windows are the same in every zone. */
  readonly days: number;
}
