/**
 * What passes between the runtime and the threads that stand for Lambda's environments.
 */
import { parentPort } from 'node:worker_threads';
import { assert } from '../core/assert.ts';

export interface InvocationMessage {
  readonly id: number;
  readonly payload: unknown;
  /** When the invocation is cut off, by the machine's clock. */
  readonly deadlineMs: number;
}

export type InvocationAnswer =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly failure: FunctionFailure };

/** An error that a function threw, as Lambda tells of it. */
export interface FunctionFailure {
  readonly name: string;
  readonly message: string;
  readonly hint: string | null;
  readonly stack: string | null;
}

/** Answers the invocations that come to this thread, one at a time. */
export function serveInvocations(
  handle: (payload: unknown, timeLeftMs: () => number) => Promise<unknown>,
): void {
  const port = parentPort;
  assert(port !== null, 'an-environment-is-a-worker-thread');
  port.on('message', async ({ id, payload, deadlineMs }: InvocationMessage) => {
    try {
      const value = await handle(payload, () => deadlineMs - Date.now());
      port.postMessage({ id, ok: true, value } satisfies InvocationAnswer);
    } catch (error) {
      const failure = failureOf(error);
      port.postMessage({ id, ok: false, failure } satisfies InvocationAnswer);
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
