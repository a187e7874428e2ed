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

  constructor(command: readonly string[], variables: Readonly<Record<string, string | undefined>>) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, {
      stdio: 'inherit',
      env: { ...process.env, ...variables },
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

/** The variables by which AWS's SDKs and `tidemark` find the port. */
export function portVariables(url: string, region: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL_KINESIS: url,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    TIDEMARK_QUERY_URL: url,
    TIDEMARK_ADMIN_URL: url,
  };
}

/** What would lead an SDK past `portVariables` to real credentials. */
export const NO_OTHER_CREDENTIALS = { AWS_PROFILE: undefined, AWS_SESSION_TOKEN: undefined };

function cannotRun(program: string, error: Error): Error {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const why = isMissing ? 'there is no such program' : error.message;
  return new Error(`cannot run '${program}': ${why}`, { cause: error });
}
