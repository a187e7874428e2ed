/**
 * The kinds of windows, and what a later version will have.
 */
import type { WindowAssigner } from '../../time/window.ts';
import { ALL_TIME } from './all-time.ts';
import { TUMBLING } from './tumbling.ts';
import type { WindowDescriptor, WindowSpan } from './window-descriptor.ts';

export const WINDOWS = [ALL_TIME, TUMBLING] as const;

/** Properties that are refused by name. */
export const WINDOW_PROPERTIES_LATER = ['hopping', 'every', 'session'];

type Descriptor = (typeof WINDOWS)[number];

export type WindowPlan = ReturnType<Descriptor['read']>;
export type WindowJson = Exclude<ReturnType<Descriptor['toJson']>, undefined>;

const BY_KIND: ReadonlyMap<WindowPlan['kind'], WindowDescriptor> = new Map(
  WINDOWS.map((descriptor) => [descriptor.kind, descriptor]),
);

export function windowOf({ kind }: Pick<WindowPlan, 'kind'>): WindowDescriptor {
  return BY_KIND.get(kind) as WindowDescriptor;
}

/** Null: the view has no windows, its entries are of all time. */
export function windowSpan(window: WindowPlan): WindowSpan | null {
  return windowOf(window).span(window);
}

export function createWindowAssigner(window: WindowPlan, zone: string): WindowAssigner {
  return windowOf(window).createAssigner(window, zone);
}
