/**
 * What becomes of a command whose standard output fails: no reader is left (`| head`), or the disk behind it is full.
 */

/** As a shell says it of SIGPIPE. */
const EXIT_PIPE = 141;
const EXIT_FAILED = 1;

export interface OutputFailure {
  /** What it means for the work of the command. */
  readonly meaning: string;
  /** The command goes on without its output, and ends as if it had it. */
  readonly goesOn: boolean;
}

let failure: OutputFailure = {
  meaning: 'what the command did before stays done',
  goesOn: false,
};

/** Says what a failure means from now on. A reader that has left ends a command all the same. */
export function onOutputFailure(meant: OutputFailure): void {
  failure = meant;
}

/** To be called once, before anything is printed. */
export function guardOutput(): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => {
    process.stdout.on('error', () => {});
    if (error.code === 'EPIPE') endWithTheReader();
    else endWithoutOutput(error);
  });
  process.stderr.on('error', () => {});
}

/** As a signal would, without a stack. */
function endWithTheReader(): void {
  // Where a command ends in order at a signal, it does so now.
  if (process.listenerCount('SIGTERM') > 0) process.emit('SIGTERM', 'SIGTERM');
  else process.exit(EXIT_PIPE);
}

function endWithoutOutput(error: Error): void {
  const { meaning, goesOn } = failure;
  const kind = goesOn ? 'warning' : 'error';
  console.error(`${kind}: standard output cannot be written (${error.message}): ${meaning}`);
  if (!goesOn) process.exit(EXIT_FAILED);
}
