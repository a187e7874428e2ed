import { afterEach, describe, expect, it, vi } from 'vitest';
import { AwsCalls, type CallOptions, CLIENT_SETTINGS } from '../../../adapters/aws/aws-calls.ts';

const RESERVE_MS = 300;

function calls(options: Partial<CallOptions> = {}): AwsCalls {
  return new AwsCalls({ timeLeftMs: () => 10_000, pauseMs: 1, ...options });
}

function named(name: string): Error {
  return Object.assign(new Error('said so'), { name, $metadata: { httpStatusCode: 400 } });
}

const throttle = () => named('ThrottlingException');

/** Throws the errors one by one, then answers; counts what it was asked. */
function failing(...errors: unknown[]) {
  return vi.fn(async (_: AbortSignal) => {
    if (errors.length > 0) throw errors.shift();
    return 'answer';
  });
}

const never = () => new Promise<never>(() => {});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('AwsCalls', () => {
  it('switches the retries of the SDK off', () => {
    expect(CLIENT_SETTINGS.maxAttempts).toBe(1);
  });

  it('gives the first answer', async () => {
    const send = failing();
    expect(await calls().send('ask', send)).toBe('answer');
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('tries again what passes', async () => {
    const send = failing(throttle(), named('TimeoutError'), throttle(), throttle());
    expect(await calls().send('ask', send)).toBe('answer');
    expect(send).toHaveBeenCalledTimes(5);
  });

  it('gives up after so many attempts, and says what came last', async () => {
    const errors = [throttle(), throttle(), named('SlowDown'), throttle()];
    const send = failing(...errors);
    await expect(calls({ attemptsMax: 3 }).send('ask', send)).rejects.toMatchObject({
      name: 'TransientFault',
      message: 'cannot ask: SlowDown: said so',
      cause: errors[2],
    });
    expect(send).toHaveBeenCalledTimes(3);
  });

  it.each([
    ['AccessDeniedException', 'ConfigurationFault'],
    ['ValidationException', 'InvariantFault'],
  ])('does not try %s again', async (name, fault) => {
    const send = failing(named(name));
    await expect(calls().send('ask', send)).rejects.toMatchObject({ name: fault });
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('throws an error that is an answer as it is, even one that passes', async () => {
    const error = throttle();
    const send = failing(error);
    await expect(calls().send('ask', send, (thrown) => thrown === error)).rejects.toBe(error);
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('ends an attempt by its signal, and tries again', async () => {
    const signals: AbortSignal[] = [];
    const send = async (signal: AbortSignal) => {
      signals.push(signal);
      if (signals.length === 2) return 'answer';
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(named('AbortError')));
      });
      return 'late';
    };
    expect(await calls({ attemptMsMax: 20 }).send('ask', send)).toBe('answer');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  });

  it('ends an attempt that does not mind its signal', async () => {
    const send = vi.fn(never);
    const slow = calls({ attemptMsMax: 20, attemptsMax: 2 });
    await expect(slow.send('ask', send)).rejects.toMatchObject({
      name: 'TransientFault',
      message: expect.stringMatching(/^cannot ask: TimeoutError: /),
    });
    expect(send).toHaveBeenCalledTimes(2);
  });

  it('bounds an attempt by the time left, less a reserve', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    await calls({ timeLeftMs: () => RESERVE_MS + 40 }).send('ask', failing());
    await calls({ attemptMsMax: 70 }).send('ask', failing());
    await calls().send('ask', failing());
    expect(timeout.mock.calls).toEqual([[40], [70], [5_000]]);
  });

  it('begins no attempt without time', async () => {
    const send = failing();
    for (const leftMs of [RESERVE_MS, 0, -5]) {
      await expect(calls({ timeLeftMs: () => leftMs }).send('ask', send)).rejects.toMatchObject({
        name: 'TransientFault',
        message: 'cannot ask: the invocation has no time left',
      });
    }
    expect(send).not.toHaveBeenCalled();
  });

  it('does not wait for an attempt that has no time, and says why the last one failed', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const leftMs = [5_000, RESERVE_MS + 50];
    const send = failing(throttle());
    const short = calls({ timeLeftMs: () => leftMs.shift() ?? 0, pauseMs: 100 });
    await expect(short.send('ask', send)).rejects.toMatchObject({
      name: 'TransientFault',
      message: 'cannot ask: ThrottlingException: said so',
    });
    expect(send).toHaveBeenCalledTimes(1);
    expect(leftMs).toEqual([]);
  });

  it('waits a random share of a time that doubles, up to a bound', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.25);
    const waits: unknown[] = [];
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((wake: () => void, ms: number) => {
      waits.push(ms);
      wake();
    }) as never);
    const errors = Array.from({ length: 7 }, throttle);
    await calls({ pauseMs: 100, attemptsMax: 8 }).send('ask', failing(...errors));
    expect(waits).toEqual([25, 50, 100, 200, 400, 500, 500]);
  });
});
