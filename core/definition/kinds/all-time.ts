/**
 * Views without windows: one window that starts at 0 by convention and never ends.
 */
import { UNBOUNDED_WINDOW } from '../../time/window.ts';
import type { WindowDescriptor } from './window-descriptor.ts';

export interface AllTime {
  readonly kind: 'all';
}

export const ALL_TIME = {
  kind: 'all',
  foldOrder: 'any-order',
  properties: [],
  read: (): AllTime => ({ kind: 'all' }),
  toJson: () => undefined,
  describe: () => 'all time',
  span: () => null,
  createAssigner: () => UNBOUNDED_WINDOW,
} as const satisfies WindowDescriptor<AllTime>;
