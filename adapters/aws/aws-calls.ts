/**
 * How every call to AWS is made: each attempt is bounded in time, what passes is tried again after a random pause, and none
 * of it outlasts the invocation. The SDK's own retries are off (`CLIENT_SETTINGS`): they know nothing of the time left.
 *
 * A call that throws `TransientFault` may have been applied or not.
 */
import { TransientFault } from '../../core/faults.ts';
import { awsFault, isPassing } from './aws-faults.ts';

/** What every client is made with. */
export const CLIENT_SETTINGS = { maxAttempts: 1 } as const;

export interface CallOptions {
  /** Milliseconds until the invocation is cut off. */
  readonly timeLeftMs: () => number;
  readonly attemptsMax?: number;
  /** Of one attempt. */
  readonly attemptMsMax?: number;
  /** A random share of this is waited after the first attempt, of twice as much after the second … */
  readonly pauseMs?: number;
}

const ATTEMPTS_MAX = 5;
const ATTEMPT_MS_MAX = 5_000;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 2_000;
/** Time that is left to tell of a failure. */
const RESERVE_MS = 300;

export class AwsCalls {
  readonly #options: Required<CallOptions>;

  constructor(options: CallOptions) {
    this.#options = {
      attemptsMax: ATTEMPTS_MAX,
      attemptMsMax: ATTEMPT_MS_MAX,
      pauseMs: PAUSE_MS,
      ...options,
    };
  }

  /**
   * The answer to a call; `what` completes "cannot …". `send` is given the signal that ends an attempt. Errors for which
   * `isAnswer` holds are thrown as they are; all others as faults.
   */
  async send<Answer>(
    what: string,
    send: (abortSignal: AbortSignal) => Promise<Answer>,
    isAnswer: (error: unknown) => boolean = () => false,
  ): Promise<Answer> {
    const { attemptsMax } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const signal = AbortSignal.timeout(this.#attemptMs(what));
      try {
        return await beforeAbort(send(signal), signal);
      } catch (error) {
        if (isAnswer(error)) throw error;
        if (attempt === attemptsMax || !isPassing(error)) throw awsFault(what, error);
        await this.#pause(what, attempt, error);
      }
    }
  }

  #attemptMs(what: string): number {
    const leftMs = this.#options.timeLeftMs() - RESERVE_MS;
    if (leftMs <= 0) throw outOfTime(what);
    return Math.ceil(Math.min(leftMs, this.#options.attemptMsMax));
  }

  async #pause(what: string, attempt: number, error: unknown): Promise<void> {
    const mostMs = Math.min(PAUSE_MS_MAX, this.#options.pauseMs * 2 ** (attempt - 1));
    const pauseMs = Math.random() * mostMs;
    if (this.#options.timeLeftMs() - pauseMs <= RESERVE_MS) throw awsFault(what, error);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Gives up with the signal even if `work` does not mind it, as when the SDK looks for credentials. */
function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function outOfTime(what: string): TransientFault {
  return new TransientFault(`cannot ${what}: the invocation has no time left`, {
    hint: 'it comes again; if that repeats, give the function a longer time-out',
  });
}
