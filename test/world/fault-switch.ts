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

/** A call of a run without faults. */
export interface PortCall {
  readonly name: string;
  /** True if it comes after the call before it in the same invocation, and neither runs beside another. */
  readonly follows: boolean;
}

/**
 * The faults at a call that no fault at another one equals. Between two calls of an invocation a process changes nothing that
 * others see: to die or to be overtaken after one is to die or to be overtaken before the next.
 */
export function faultKindsAt(calls: readonly PortCall[], index: number): readonly FaultKind[] {
  const { name, follows } = calls[index] as PortCall;
  const isFollowed = calls[index + 1]?.follows ?? false;
  const afterRead = follows && READS.test((calls[index - 1] as PortCall).name);
  const kinds: FaultKind[] = afterRead ? ['fail-before'] : ['crash-before', 'fail-before'];
  if (!READS.test(name)) kinds.push('answer-lost');
  if (!(READS.test(name) || isFollowed)) kinds.push('crash-after');
  if (!BLOB_READS.test(name)) kinds.push('overtaken-before');
  if (!isFollowed) kinds.push('overtaken-after');
  return kinds;
}

/** The process of the environment is gone: whatever it held in memory is lost, and it does nothing any more. */
export class Crash extends Error {}

/** Of one process: once it is dead, its ports do nothing but throw. */
export interface Life {
  dead: boolean;
}

export class FaultSwitch {
  readonly calls: PortCall[] = [];
  /** Faults that came to pass. */
  fired = 0;
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly #afterWrite: (deletes: boolean) => Promise<void>;
  readonly #overtake: () => Promise<void>;
  #inFlight = 0;
  /** The newest call has ended, ran beside no other, and belongs to the invocation that goes on. */
  #isFollowed = false;

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

  beginInvocation(): void {
    this.#isFollowed = false;
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
          this.#call(`${port}.${String(name)}`, life, async () => {
            const answer = await Reflect.apply(method, object, args);
            return name === 'upload' ? this.#object(port, answer, life) : answer;
          });
      },
    });
  }

  async #call(name: string, life: Life, run: () => Promise<unknown>): Promise<unknown> {
    if (life.dead) throw new Crash(`${name}, of a dead process`);
    const number = this.calls.length;
    const fault = this.#faults.get(number);
    const isAlone = this.#inFlight === 0;
    this.calls.push({ name, follows: isAlone && this.#isFollowed });
    this.#isFollowed = false;
    this.#inFlight++;
    try {
      return await this.#run(name, life, fault, run);
    } finally {
      this.#inFlight--;
      this.#isFollowed = isAlone && this.calls.length === number + 1;
    }
  }

  async #run(
    name: string,
    life: Life,
    fault: FaultKind | undefined,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
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
