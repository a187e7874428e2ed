/**
 * While a simulation runs, the real clock, real timers and real chance throw: whatever needs them has a port. What was there
 * is put back however the run ends.
 */

/** Runs `run` without reality. `run` must stay within one macrotask, or others meet what was meant for it. */
export async function withoutReality<T>(run: () => Promise<T>): Promise<T> {
  const restored = [forbidDate(), ...FORBIDDEN.map(([owner, name]) => forbid(owner, name))];
  try {
    return await run();
  } finally {
    for (const restore of restored) restore();
  }
}

/** Something asked the real world for time or chance. */
class RealityFault extends Error {
  constructor(what: string) {
    super(`${what} in a simulation: time and chance come from ports`);
    this.name = 'RealityFault';
  }
}

const FORBIDDEN: readonly (readonly [owner: object, name: string])[] = [
  [Math, 'random'],
  [performance, 'now'],
  [process, 'hrtime'],
  [globalThis, 'setTimeout'],
  [globalThis, 'setInterval'],
  [globalThis, 'setImmediate'],
  [globalThis, 'fetch'],
  [crypto, 'randomUUID'],
  [crypto, 'getRandomValues'],
];

type Restore = () => void;

function forbid(owner: object, name: string): Restore {
  return replace(owner, name, () => {
    throw new RealityFault(name);
  });
}

/** `new Date(ms)` is a format, not a clock: it stays. */
function forbidDate(): Restore {
  const forbidden = new Proxy(Date, {
    construct(target, parameters, newTarget) {
      if (parameters.length === 0) throw new RealityFault('new Date()');
      return Reflect.construct(target, parameters, newTarget) as object;
    },
    apply() {
      throw new RealityFault('Date()');
    },
    get(target, name, receiver) {
      if (name !== 'now') return Reflect.get(target, name, receiver) as unknown;
      return () => {
        throw new RealityFault('Date.now');
      };
    },
  });
  return replace(globalThis, 'Date', forbidden);
}

function replace(owner: object, name: string, value: unknown): Restore {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (own === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, own);
  };
}
