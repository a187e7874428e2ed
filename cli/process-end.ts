/**
 * The end of a command: the process exits when nothing is left to do, but waits for no thread that cannot be ended.
 */
import { areThreadsGone } from './pipeline-file.ts';

/** How long the thread of a pipeline file may take to end. */
const THREAD_MS_MAX = 1_000;

/**
 * The process exits with this code. Where a pipeline file blocks its thread with a call that cannot be interrupted, it does
 * so at once: everything else must be done.
 */
export async function endWith(exitCode: number): Promise<void> {
  process.exitCode = exitCode;
  if (await areThreadsGone(THREAD_MS_MAX)) return;
  console.error(
    'warning: the pipeline file blocks its thread with a call that does not end; this process ends without it',
  );
  await new Promise((resolve) => process.stdout.write('', resolve));
  // An exit waits for each thread; a program that takes the place of this one does not.
  process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${exitCode})`], {
    ...process.env,
    NODE_OPTIONS: '',
  });
  // Where no program can do that, on Windows: there this is an exit with code 1.
  process.kill(process.pid, 'SIGKILL');
}
