/**
 * Environments as Lambda has them: each runs one invocation at a time and keeps its memory between invocations; an
 * invocation goes to any that is free, at random, as Lambda may route it. One that dies, runs out of memory or out of
 * time takes only its own invocation with it, and a new one takes its place.
 *
 * The queue is bounded, and an invocation whose caller has gone leaves it: what is asked faster than it can be answered
 * is refused at once, and no work is done for callers that no longer wait.
 */
import { Worker } from 'node:worker_threads';
import { assert } from '../core/assert.ts';
import {
  type EnvironmentMessage,
  type FunctionFailure,
  type InvocationAnswer,
  type InvocationMessage,
  monotonicMs,
} from './invocation.ts';
import { threadEntry } from './thread-entry.ts';

export interface EnvironmentPoolOptions {
  readonly name: string;
  readonly count: number;
  /** The module that each thread runs; it calls `serveInvocations`. */
  readonly entry: URL;
  readonly workerData: unknown;
  readonly memoryMib: number;
  /** What a person can do when that is too little. */
  readonly memoryHint: string;
  readonly timeoutMs: number;
  /** Invocations that wait for an environment at most; one more is refused as `Overloaded`. */
  readonly waitingMax: number;
  /** How long one may have to wait, by what the last ones took; one that would wait longer is refused too. */
  readonly waitMsMax: number;
}

/** How many of the last durations make the average, about. */
const DURATIONS_AVERAGED = 5;

/** What an invocation came to when it did not answer. */
export class InvocationError extends Error {
  readonly failure: FunctionFailure;

  constructor(failure: FunctionFailure) {
    super(failure.message);
    this.name = failure.name;
    this.failure = failure;
  }
}

const KEEP_COMPILED = threadEntry('keep-compiled').href;

/** Short-lived memory of an environment: a larger one collects less often and holds more. */
const YOUNG_MIB = 32;

interface Job {
  readonly payload: unknown;
  readonly signal: AbortSignal | undefined;
  /** Whose queue it waits in, or whose environment runs it. */
  pool: EnvironmentPool;
  onAbort(): void;
  resolve(value: unknown): void;
  reject(error: InvocationError): void;
}

interface Environment {
  worker: Worker | null;
  job: Job | null;
  /** Of the invocation that runs. */
  id: number;
  timer: NodeJS.Timeout | null;
}

export class EnvironmentPool {
  readonly #options: EnvironmentPoolOptions;
  readonly #environments: Environment[];
  readonly #waiting: Job[] = [];
  #nextId = 0;
  /** Of the last invocations that answered. */
  #averageMs = 0;
  #durations = 0;
  #closed = false;

  constructor(options: EnvironmentPoolOptions) {
    this.#options = options;
    this.#environments = Array.from({ length: options.count }, () => ({
      worker: null,
      job: null,
      id: -1,
      timer: null,
    }));
  }

  /** Starts the threads before the first invocation needs them. */
  warm(): void {
    for (const environment of this.#environments) environment.worker ??= this.#spawn(environment);
  }

  /**
   * Resolves to what the function returned; rejects with `InvocationError`. `signal` aborts when the caller no longer waits:
   * an invocation that has not begun never does then, and one that runs is told.
   */
  invoke(payload: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal(signal);
      if (refusal !== null) {
        reject(new InvocationError(refusal));
        return;
      }
      const job: Job = {
        payload,
        signal,
        pool: this,
        onAbort: () => job.pool.#cancel(job),
        resolve,
        reject,
      };
      signal?.addEventListener('abort', job.onAbort, { once: true });
      this.#waiting.push(job);
      this.#dispatch();
    });
  }

  #refusal(signal: AbortSignal | undefined): FunctionFailure | null {
    if (this.#closed) return failureNamed('Closed', 'the runtime is shutting down');
    if (signal?.aborted) return CANCELLED;
    const { waitingMax, waitMsMax, count } = this.#options;
    const waiting = this.#waiting.length;
    if (waiting === 0) return null;
    const waitMs = (waiting * this.#averageMs) / count;
    return waiting < waitingMax && waitMs <= waitMsMax ? null : this.#overloaded();
  }

  /** The first of a burst are taken before it is known how long they take: once it is, the last ones need not wait in vain. */
  #shed(): void {
    const { count, waitMsMax } = this.#options;
    const roomFor = Math.max(1, Math.floor((waitMsMax * count) / Math.max(1, this.#averageMs)));
    for (const job of this.#waiting.splice(roomFor)) {
      settled(job).reject(new InvocationError(this.#overloaded()));
    }
  }

  #overloaded(): FunctionFailure {
    const { name } = this.#options;
    return {
      ...failureNamed('Overloaded', `${this.#waiting.length} ${name} requests wait already`),
      hint: 'ask again in a moment, or ask for less: by key, prefix, start and end, or without order',
    };
  }

  #cancel(job: Job): void {
    const index = this.#waiting.indexOf(job);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      settled(job).reject(new InvocationError(CANCELLED));
      return;
    }
    const environment = this.#environments.find((each) => each.job === job);
    environment?.worker?.postMessage({ cancel: environment.id } satisfies EnvironmentMessage);
  }

  /** Takes no new invocations, gives the waiting ones to a successor or ends them, and lets the running ones finish. */
  async close(successor?: EnvironmentPool): Promise<void> {
    this.#closed = true;
    const waiting = this.#waiting.splice(0);
    if (successor === undefined) {
      const failure = failureNamed('Closed', 'the runtime is shutting down');
      for (const job of waiting) settled(job).reject(new InvocationError(failure));
    } else {
      for (const job of waiting) job.pool = successor;
      successor.#waiting.push(...waiting);
      successor.#dispatch();
    }
    while (this.#environments.some(({ job }) => job !== null)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(this.#environments.map(({ worker }) => worker?.terminate()));
  }

  #dispatch(): void {
    for (;;) {
      const free = this.#environments.filter(({ job }) => job === null);
      if (free.length === 0 || this.#waiting.length === 0) return;
      const environment = free[Math.floor(Math.random() * free.length)] as Environment;
      this.#start(environment, this.#waiting.shift() as Job);
    }
  }

  #start(environment: Environment, job: Job): void {
    const { timeoutMs } = this.#options;
    environment.job = job;
    environment.worker ??= this.#spawn(environment);
    environment.timer = setTimeout(() => {
      this.#lose(environment, failureNamed('Timeout', `no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    environment.id = this.#nextId++;
    const message: InvocationMessage = {
      id: environment.id,
      payload: job.payload,
      deadlineMs: monotonicMs() + timeoutMs,
    };
    try {
      environment.worker.postMessage(message);
    } catch (error) {
      // What cannot be copied to a thread, such as arrays that are nested too deep, is its sender's matter.
      const { name, message: why } = error as Error;
      this.#release(environment)?.reject(new InvocationError(failureNamed(name, why)));
    }
  }

  #spawn(environment: Environment): Worker {
    const { entry, workerData, memoryMib, name } = this.#options;
    const worker = new Worker(entry, {
      workerData,
      name,
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', KEEP_COMPILED],
      resourceLimits: { maxOldGenerationSizeMb: memoryMib, maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    worker.on('message', (answer: InvocationAnswer) => {
      if (environment.worker === worker) this.#finish(environment, answer);
    });
    worker.on('error', (error: Error) => {
      if (environment.worker !== worker) return;
      this.#lose(environment, this.#deathOf(error));
    });
    worker.on('exit', (code) => {
      if (environment.worker !== worker) return;
      this.#lose(environment, failureNamed('Exit', `the environment ended with code ${code}`));
    });
    return worker;
  }

  #deathOf(error: Error & { code?: string }): FunctionFailure {
    const { memoryMib, memoryHint } = this.#options;
    if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') {
      return failureNamed(error.name, `the environment died: ${error.message}`);
    }
    const message = `the environment needed more than its ${memoryMib} MiB of memory`;
    return { ...failureNamed('OutOfMemory', message), hint: memoryHint };
  }

  #finish(environment: Environment, answer: InvocationAnswer): void {
    const job = this.#release(environment);
    assert(job !== null, 'an-answer-has-an-invocation');
    // One that was cut short would have taken longer still.
    if (answer.ok || answer.tookMs > this.#averageMs) this.#average(answer.tookMs);
    if (answer.ok) job.resolve(answer.value);
    else job.reject(new InvocationError(answer.failure));
    this.#shed();
    this.#dispatch();
  }

  /** The first duration is the whole average: begun at 0, it would promise a burst what cannot be kept. */
  #average(tookMs: number): void {
    this.#durations = Math.min(DURATIONS_AVERAGED, this.#durations + 1);
    this.#averageMs += (tookMs - this.#averageMs) / this.#durations;
  }

  #lose(environment: Environment, failure: FunctionFailure): void {
    void environment.worker?.terminate();
    environment.worker = null;
    this.#release(environment)?.reject(new InvocationError(failure));
    this.#dispatch();
  }

  #release(environment: Environment): Job | null {
    const { job, timer } = environment;
    if (timer !== null) clearTimeout(timer);
    environment.job = null;
    environment.timer = null;
    return job === null ? null : settled(job);
  }
}

const CANCELLED = failureNamed('Cancelled', 'the caller no longer waits for the answer');

/** A signal may outlive many invocations: it must not keep those that are over. */
function settled(job: Job): Job {
  job.signal?.removeEventListener('abort', job.onAbort);
  return job;
}

function failureNamed(name: string, message: string): FunctionFailure {
  return { name, message, hint: null, stack: null };
}
