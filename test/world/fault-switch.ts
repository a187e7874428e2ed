/**
 * Wraps ports so that one chosen call, counted over all ports, goes wrong: the process dies before or after it, it fails
 * and was not applied, it was applied and its answer is lost, or somebody else does a whole invocation before or after it.
 */
import { TransientFault } from '../../core/faults.ts';
import type { TaskPorts } from '../../core/task.ts';

export type FaultKind =
  | 'crash-before'
  | 'crash-after'
  | 'fail-before'
  | 'answer-lost'
  | 'overtaken-before'
  | 'overtaken-after';

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash-before',
  'crash-after',
  'fail-before',
  'answer-lost',
  'overtaken-before',
  'overtaken-after',
];

/** The process of the environment is gone: whatever it held in memory is lost. */
export class Crash extends Error {}

export class FaultSwitch {
  calls = 0;
  readonly names: string[] = [];
  /** Faults that came to pass. */
  fired = 0;
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly #afterWrite: () => Promise<void>;
  readonly #overtake: () => Promise<void>;

  /** `faults` by number of the call, from 0. `afterWrite` runs after each call that may have written, `overtake` is the invocation of another. */
  constructor(
    faults: ReadonlyMap<number, FaultKind>,
    afterWrite: () => Promise<void>,
    overtake: () => Promise<void>,
  ) {
    this.#faults = faults;
    this.#afterWrite = afterWrite;
    this.#overtake = overtake;
  }

  wrap(ports: TaskPorts): TaskPorts {
    const { heads, blobs, source, shards, quarantine } = ports;
    return {
      ...ports,
      heads: this.#object('heads', heads),
      blobs: {
        items: this.#object('items', blobs.items),
        objects: this.#object('objects', blobs.objects),
      },
      source: this.#object('source', source),
      shards: this.#object('shards', shards),
      quarantine: this.#object('quarantine', quarantine),
    };
  }

  #object<T extends object>(port: string, target: T): T {
    return new Proxy(target, {
      get: (object, name) => {
        const method = Reflect.get(object, name) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.#call(`${port}.${String(name)}`, () => Reflect.apply(method, object, args));
      },
    });
  }

  async #call(name: string, run: () => Promise<unknown>): Promise<unknown> {
    const fault = this.#faults.get(this.calls);
    this.calls++;
    this.names.push(name);
    if (fault !== undefined) this.fired++;
    if (fault === 'crash-before') throw new Crash(name);
    if (fault === 'fail-before') throw new TransientFault(`${name} did not answer`);
    if (fault === 'overtaken-before') await this.#overtake();
    const answer = await run();
    // Only these change what a reader finds: other writes lead nowhere until HEAD names them.
    if (/Head$|delete$/.test(name) && !name.endsWith('readHead')) await this.#afterWrite();
    if (fault === 'overtaken-after') await this.#overtake();
    if (fault === 'crash-after') throw new Crash(name);
    if (fault === 'answer-lost') throw new TransientFault(`the answer of ${name} is lost`);
    return answer;
  }
}
