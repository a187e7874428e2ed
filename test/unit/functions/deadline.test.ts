import { afterEach, expect, it, vi } from 'vitest';
import { Deadline } from '../../../functions/deadline.ts';

afterEach(() => {
  vi.useRealTimers();
});

it.each([-26 * 3_600_000, 26 * 3_600_000])(
  'an invocation has the time that it began with, though the wall clock is set by %s ms',
  (stepMs) => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    // As Lambda reckons it.
    const endMs = Date.now() + 60_000;
    const deadline = new Deadline();
    deadline.follow({ getRemainingTimeInMillis: () => endMs - Date.now() });
    vi.advanceTimersByTime(10_000);
    vi.setSystemTime(Date.now() + stepMs);
    expect(deadline.timeLeftMs()).toBe(50_000);
  },
);
