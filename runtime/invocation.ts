/**
 * What passes between the runtime and the threads that stand for Lambda's environments.
 */
import { parentPort } from 'node:worker_threads';
import { assert } from '../core/assert.ts';

export type EnvironmentMessage = InvocationMessage | CancelMessage;

/** The caller of a running invocation no longer waits for its answer. */
export interface CancelMessage {
  readonly cancel: number;
}

export interface InvocationMessage {
  readonly id: number;
  readonly payload: unknown;
  /** When the invocation is cut off, by `monotonicMs`. */
  readonly deadlineMs: number;
}

export type InvocationAnswer = InvocationOutcome & {
  readonly id: number;
  /** What the function took, without the start of its thread. */
  readonly tookMs: number;
};

type InvocationOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: FunctionFailure };

/** An error that a function threw, as Lambda tells of it. */
export interface FunctionFailure {
  readonly name: string;
  readonly message: string;
  readonly hint: string | null;
  readonly stack: string | null;
}

/** What a function is told of the invocation that it answers. */
export interface InvocationContext {
  readonly timeLeftMs: () => number;
  /** Aborts when the caller no longer waits. It can only be seen after the function has let the thread's events run. */
  readonly signal: AbortSignal;
}

/** A clock that cannot be set, the same in all threads of a process (`performance.now()` begins anew in each). */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Answers the invocations that come to this thread, one at a time. */
export function serveInvocations(
  handle: (payload: unknown, context: InvocationContext) => Promise<unknown>,
): void {
  const port = parentPort;
  assert(port !== null, 'an-environment-is-a-worker-thread');
  let running = { id: -1, controller: new AbortController() };
  port.on('message', async (message: EnvironmentMessage) => {
    if ('cancel' in message) {
      if (message.cancel === running.id) running.controller.abort();
      return;
    }
    const { id, payload, deadlineMs } = message;
    const controller = new AbortController();
    running = { id, controller };
    const beganMs = monotonicMs();
    const answer = (outcome: InvocationOutcome) => {
      port.postMessage({
        id,
        tookMs: monotonicMs() - beganMs,
        ...outcome,
      } satisfies InvocationAnswer);
    };
    try {
      const timeLeftMs = () => deadlineMs - monotonicMs();
      answer({ ok: true, value: await handle(payload, { timeLeftMs, signal: controller.signal }) });
    } catch (error) {
      answer({ ok: false, failure: failureOf(error) });
    }
  });
}

/** An error as a function's failure. */
export function failureOf(error: unknown): FunctionFailure {
  if (!(error instanceof Error)) {
    return { name: 'Error', message: String(error), hint: null, stack: null };
  }
  const hint = 'hint' in error && typeof error.hint === 'string' ? error.hint : null;
  return { name: error.name, message: error.message, hint, stack: error.stack ?? null };
}
