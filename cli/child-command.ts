/**
 * The command behind `tidemark dev -- CMD`: it has this terminal, gets our signals, and its exit code becomes ours.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

/** What a shell says of a program that a signal ended: 128 and the signal's number. */
const SIGNALLED = 128;

export class ChildCommand {
  readonly #child: ChildProcess;
  /** Its exit code. Rejects if it cannot be started. */
  readonly ended: Promise<number>;

  constructor(command: readonly string[], environment: NodeJS.ProcessEnv) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, {
      stdio: 'inherit',
      env: environment,
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', (error) => reject(cannotRun(program, error)));
      this.#child.once('exit', (code, signal) => {
        resolve(code ?? SIGNALLED + constants.signals[signal as NodeJS.Signals]);
      });
    });
  }

  /** Passes a signal on. A second one ends it at once. */
  signal(signal: NodeJS.Signals, count: number): void {
    if (count > 1) this.#child.kill('SIGKILL');
    // A terminal has sent it to both already.
    else if (signal !== 'SIGINT' || !process.stdin.isTTY) this.#child.kill(signal);
  }
}

function cannotRun(program: string, error: Error): Error {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const why = isMissing ? 'there is no such program' : error.message;
  return new Error(`cannot run '${program}': ${why}`, { cause: error });
}
