import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  EnvironmentPool,
  type EnvironmentPoolOptions,
  InvocationError,
} from '../../../runtime/environment-pool.ts';
import type { Greeting, TrialPayload } from './trial-environment.ts';

const pools: EnvironmentPool[] = [];

function newPool(options: Partial<EnvironmentPoolOptions> = {}): EnvironmentPool {
  const pool = new EnvironmentPool({
    name: 'trial',
    count: 1,
    entry: new URL('./trial-environment.ts', import.meta.url),
    workerData: null,
    memoryMib: 64,
    memoryHint: 'give it more',
    timeoutMs: 5_000,
    waitingMax: 100,
    waitMsMax: 60_000,
    ...options,
  });
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

const invoke = (pool: EnvironmentPool, payload: TrialPayload) => pool.invoke(payload);
const greet = (pool: EnvironmentPool, delayMs = 0) =>
  invoke(pool, { kind: 'greet', delayMs }) as Promise<Greeting>;

/** An invocation without an end. Timers of this thread hold still until `passes` lets them go on. */
class Spin {
  readonly payload: TrialPayload;
  readonly #begun = new Int32Array(new SharedArrayBuffer(4));

  constructor() {
    this.payload = { kind: 'spin', begun: this.#begun };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
  }

  /** Once it runs. */
  async passes(ms: number): Promise<void> {
    while (Atomics.load(this.#begun, 0) === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(ms);
    vi.useRealTimers();
  }
}

async function failureOf(promise: Promise<unknown>) {
  const error = await promise.then(() => null).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvocationError);
  return (error as InvocationError).failure;
}

describe('an environment', () => {
  it('keeps its memory between invocations, which run one at a time and in order', async () => {
    const pool = newPool();
    const greetings = await Promise.all([greet(pool, 20), greet(pool), greet(pool)]);

    expect(greetings.map(({ count }) => count)).toEqual([1, 2, 3]);
    expect(new Set(greetings.map(({ threadId }) => threadId)).size).toBe(1);
  });

  it('answers a throw with the name, message and hint of the error, and lives on', async () => {
    const pool = newPool();
    const failure = await failureOf(invoke(pool, { kind: 'throw' }));

    expect(failure).toMatchObject({
      name: 'TransientFault',
      message: 'the disk is full',
      hint: 'free some space',
    });
    expect(failure.stack).toContain('trial-environment');
    expect(await greet(pool)).toMatchObject({ count: 2 });
  });

  it('knows how much time an invocation has left', async () => {
    const left = (await invoke(newPool({ timeoutMs: 4_000 }), { kind: 'time-left' })) as number;

    expect(left).toBeGreaterThan(1_000);
    expect(left).toBeLessThanOrEqual(4_000);
  });

  it.each([
    ['ends', { kind: 'exit' }, 'Exit', 'the environment ended with code 3'],
    ['is out of memory', { kind: 'eat' }, 'OutOfMemory', 'more than its 64 MiB'],
  ] as const)(
    'that %s takes only its own invocation with it',
    async (_, payload, name, message) => {
      const pool = newPool({ timeoutMs: 9_000 });
      await greet(pool);
      const lost = failureOf(invoke(pool, payload));
      const waiting = greet(pool);

      const failure = await lost;
      expect(failure.name).toBe(name);
      expect(failure.message).toContain(message);
      // A new one has taken its place.
      expect(await waiting).toMatchObject({ count: 1 });
    },
  );

  it('that is out of time takes only its own invocation with it', async () => {
    const pool = newPool({ timeoutMs: 9_000 });
    await greet(pool);
    const spin = new Spin();
    const lost = failureOf(invoke(pool, spin.payload));
    const waiting = greet(pool);
    await spin.passes(9_000);

    expect(await lost).toMatchObject({ name: 'Timeout', message: 'no answer within 9000 ms' });
    expect(await waiting).toMatchObject({ count: 1 });
  });

  it('that cannot be loaded fails its invocation with the reason', async () => {
    const entry = new URL('./no-such-environment.ts', import.meta.url);
    const failure = await failureOf(greet(newPool({ entry })));

    expect(failure.message).toContain('no-such-environment.ts');
  });
});

describe('a pool', () => {
  it('runs as many invocations at once as it has environments', async () => {
    const pool = newPool({ count: 3 });
    const greetings = await Promise.all([greet(pool, 100), greet(pool, 100), greet(pool, 100)]);

    expect(new Set(greetings.map(({ threadId }) => threadId)).size).toBe(3);
  });

  it('routes to any that is free, at random', async () => {
    const pool = newPool({ count: 2 });
    const order: number[] = [];
    for (let round = 0; round < 40; round++) order.push((await greet(pool)).threadId);

    const changes = order.filter((id, index) => index > 0 && id !== order[index - 1]).length;
    expect(new Set(order).size).toBe(2);
    // Few changes would be a habit, as would one at each step. By chance that is one run in 50 million.
    expect(changes).toBeGreaterThan(3);
    expect(changes).toBeLessThan(39);
  });

  it('goes on with the others while one is busy', async () => {
    const pool = newPool({ count: 2, timeoutMs: 9_000 });
    const spin = new Spin();
    const lost = failureOf(invoke(pool, spin.payload));
    const others = await Promise.all([greet(pool), greet(pool), greet(pool)]);

    expect(new Set(others.map(({ threadId }) => threadId)).size).toBe(1);
    await spin.passes(9_000);
    expect((await lost).name).toBe('Timeout');
  });

  it('lets running invocations finish when it closes, and refuses waiting and new ones', async () => {
    const pool = newPool();
    const running = greet(pool, 200);
    const waiting = failureOf(greet(pool));
    const closed = pool.close();
    const late = failureOf(greet(pool));

    expect(await running).toMatchObject({ count: 1 });
    for (const failure of [await waiting, await late]) {
      expect(failure).toMatchObject({ name: 'Closed', message: 'the runtime is shutting down' });
    }
    await closed;
  });

  it('gives waiting invocations to its successor when it closes, and keeps the running one', async () => {
    const [pool, successor] = [newPool(), newPool()];
    const running = greet(pool, 100);
    const waiting = greet(pool);
    const closed = pool.close(successor);

    const [first, second] = [await running, await waiting];
    expect(second).toMatchObject({ count: 1 });
    expect(second.threadId).not.toBe(first.threadId);
    await closed;
    expect((await failureOf(greet(pool))).name).toBe('Closed');
    expect(await greet(successor)).toMatchObject({ count: 2 });
  });

  it('never begins an invocation whose caller has gone', async () => {
    const pool = newPool();
    const running = greet(pool, 50);
    const caller = new AbortController();
    const abandoned = failureOf(pool.invoke({ kind: 'greet', delayMs: 0 }, caller.signal));
    caller.abort();

    expect((await abandoned).name).toBe('Cancelled');
    expect((await running).count).toBe(1);
    expect((await greet(pool)).count).toBe(2);
    expect((await failureOf(pool.invoke({ kind: 'throw' }, caller.signal))).name).toBe('Cancelled');
  });

  it('tells a running invocation that its caller has gone, and no other one', async () => {
    const pool = newPool();
    const [early, caller] = [new AbortController(), new AbortController()];
    await pool.invoke({ kind: 'greet', delayMs: 0 }, early.signal);
    const running = pool.invoke({ kind: 'until-cancelled' }, caller.signal);
    const next = greet(pool, 20);
    early.abort();
    await new Promise((resolve) => setTimeout(resolve, 30));
    caller.abort();

    expect(await running).toBe('cancelled');
    expect((await next).count).toBe(3);
  });

  it('refuses what its queue has no room for, and takes more once callers have gone', async () => {
    const pool = newPool({ waitingMax: 2 });
    const running = greet(pool, 50);
    const callers = [new AbortController(), new AbortController()];
    const waiting = callers.map(({ signal }) =>
      failureOf(pool.invoke({ kind: 'greet', delayMs: 0 }, signal)),
    );
    const refused = await failureOf(greet(pool));
    for (const caller of callers) caller.abort();
    const taken = greet(pool);

    expect(refused).toMatchObject({ name: 'Overloaded', message: '2 trial requests wait already' });
    for (const failure of await Promise.all(waiting)) expect(failure.name).toBe('Cancelled');
    expect([(await running).count, (await taken).count]).toEqual([1, 2]);
  });

  it('refuses what would wait too long, by what the last ones took', async () => {
    const pool = newPool({ waitMsMax: 30 });
    // Nothing is known yet, so a short queue is taken.
    await Promise.all([greet(pool, 100), greet(pool, 100)]);
    const running = greet(pool, 100);
    const waiting = greet(pool, 0);
    expect((await failureOf(greet(pool))).name).toBe('Overloaded');
    await Promise.all([running, waiting]);
    expect((await greet(pool)).count).toBe(5);
  });

  it('refuses the last of a first burst once it is known how long they take', async () => {
    const pool = newPool({ waitMsMax: 250 });
    const burst = Array.from({ length: 6 }, () =>
      greet(pool, 100).then(
        ({ count }) => count,
        () => 0,
      ),
    );
    const counts = await Promise.all(burst);
    expect(counts.slice(0, 2)).toEqual([1, 2]);
    expect(counts.slice(3)).toEqual([0, 0, 0]);
  });

  it('lets a caller leave the queue of its successor too', async () => {
    const [pool, successor] = [newPool(), newPool()];
    const [running, blocking] = [greet(pool, 50), greet(successor, 50)];
    const caller = new AbortController();
    const waiting = failureOf(pool.invoke({ kind: 'throw' }, caller.signal));
    const closed = pool.close(successor);
    caller.abort();

    expect((await waiting).name).toBe('Cancelled');
    await Promise.all([running, blocking, closed]);
    expect((await greet(successor)).count).toBe(2);
  });

  it('closes while an environment is dying', async () => {
    const pool = newPool();
    const lost = failureOf(invoke(pool, { kind: 'exit' }));
    await pool.close();

    expect((await lost).name).toBe('Exit');
  });
});
