/**
 * Wraps ports so that one chosen call, counted over all ports, goes wrong: the process dies before or after it, it fails
 * and was not applied, or it was applied and its answer is lost.
 */
import { TransientFault } from '../../core/faults.ts';
import type { TaskPorts } from '../../core/task.ts';

export type FaultKind = 'crash-before' | 'crash-after' | 'fail-before' | 'answer-lost';

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash-before',
  'crash-after',
  'fail-before',
  'answer-lost',
];

/** The process of the environment is gone: whatever it held in memory is lost. */
export class Crash extends Error {}

export class FaultSwitch {
  calls = 0;
  readonly names: string[] = [];
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly #afterWrite: () => Promise<void>;

  /** `faults` by number of the call, from 0. `afterWrite` runs after each call that may have written. */
  constructor(faults: ReadonlyMap<number, FaultKind>, afterWrite: () => Promise<void>) {
    this.#faults = faults;
    this.#afterWrite = afterWrite;
  }

  wrap(ports: TaskPorts): TaskPorts {
    const { heads, blobs, source, quarantine } = ports;
    return {
      ...ports,
      heads: this.#object('heads', heads),
      blobs: {
        items: this.#object('items', blobs.items),
        objects: this.#object('objects', blobs.objects),
      },
      source: this.#object('source', source),
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
    if (fault === 'crash-before') throw new Crash(name);
    if (fault === 'fail-before') throw new TransientFault(`${name} did not answer`);
    const answer = await run();
    if (!/\.(read|list)/.test(name)) await this.#afterWrite();
    if (fault === 'crash-after') throw new Crash(name);
    if (fault === 'answer-lost') throw new TransientFault(`the answer of ${name} is lost`);
    return answer;
  }
}
