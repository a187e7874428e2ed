/**
 * Wraps ports so that one chosen call, counted over all ports, goes wrong: the process dies before or after it, it fails
 * and was not applied, it was applied and its answer is lost, or somebody else does a whole invocation before or after it.
 */
import { TransientFault } from '../../core/faults.ts';
import type { TaskPorts } from '../../core/task/slice-task.ts';

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

/** Calls that change nothing: there, a lost answer is a failure, and dying after one is dying before it. */
const READS = /\.(read\w*|list\w*|active|get|hashRange|shardIds|streamId)$/;

/** Of these, and blobs never change: overtaken before one is overtaken after it. */
const BLOB_READS = /^(items|objects)\.read/;

/** The faults that differ at a call of this name. */
export function faultKindsAt(name: string): readonly FaultKind[] {
  if (!READS.test(name)) return FAULT_KINDS;
  if (BLOB_READS.test(name)) return ['crash-before', 'fail-before', 'overtaken-after'];
  return ['crash-before', 'fail-before', 'overtaken-before', 'overtaken-after'];
}

/** The process of the environment is gone: whatever it held in memory is lost, and it does nothing any more. */
export class Crash extends Error {}

/** Of one process: once it is dead, its ports do nothing but throw. */
export interface Life {
  dead: boolean;
}

export class FaultSwitch {
  calls = 0;
  readonly names: string[] = [];
  /** Faults that came to pass. */
  fired = 0;
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly #afterWrite: (deletes: boolean) => Promise<void>;
  readonly #overtake: () => Promise<void>;

  /** `faults` by number of the call, from 0. `afterWrite` runs after each call that may have written, `overtake` is the invocation of another. */
  constructor(
    faults: ReadonlyMap<number, FaultKind>,
    afterWrite: (deletes: boolean) => Promise<void>,
    overtake: () => Promise<void>,
  ) {
    this.#faults = faults;
    this.#afterWrite = afterWrite;
    this.#overtake = overtake;
  }

  /** True as long as nothing has gone wrong yet, and something will. */
  get awaitsFirstFault(): boolean {
    return this.#faults.size > 0 && this.fired === 0;
  }

  /** The ports of one process. */
  wrap(ports: TaskPorts, life: Life = { dead: false }): TaskPorts {
    const object = <T extends object>(name: string, port: T) => this.#object(name, port, life);
    const { heads, blobs, source, shards, quarantine, inbox, plans, suspicions } = ports;
    const { clock, nonces, knobs, pauses } = ports;
    return {
      clock,
      nonces,
      knobs,
      heads: object('heads', heads),
      blobs: {
        items: object('items', blobs.items),
        objects: object('objects', blobs.objects),
      },
      source: object('source', source),
      shards: object('shards', shards),
      quarantine: object('quarantine', quarantine),
      inbox: object('inbox', inbox),
      plans: object('plans', plans),
      suspicions: object('suspicions', suspicions),
      pauses,
    };
  }

  #object<T extends object>(port: string, target: T, life: Life): T {
    return new Proxy(target, {
      get: (object, name) => {
        const method = Reflect.get(object, name) as unknown;
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.#call(`${port}.${String(name)}`, life, () => Reflect.apply(method, object, args));
      },
    });
  }

  async #call(name: string, life: Life, run: () => Promise<unknown>): Promise<unknown> {
    if (life.dead) throw new Crash(`${name}, of a dead process`);
    const fault = this.#faults.get(this.calls);
    this.calls++;
    this.names.push(name);
    if (fault !== undefined) this.fired++;
    if (fault?.startsWith('crash')) life.dead = true;
    if (fault === 'crash-before') throw new Crash(name);
    if (fault === 'fail-before') throw new TransientFault(`${name} did not answer`);
    if (fault === 'overtaken-before') await this.#overtake();
    const answer = await run();
    // Only these change what a reader finds: other writes lead nowhere until HEAD names them.
    const deletes = name.endsWith('.delete');
    if (deletes || /\.(write|create)Head$/.test(name)) await this.#afterWrite(deletes);
    if (fault === 'overtaken-after') await this.#overtake();
    if (fault === 'crash-after') throw new Crash(name);
    if (fault === 'answer-lost') throw new TransientFault(`the answer of ${name} is lost`);
    return answer;
  }
}
