/**
 * The closed set of faults, chosen by what the caller must do. Expected outcomes (a lost race, a bad record, an object
 * that is not there) are values, not faults. `name` is a wire contract: state machines and alarms match it.
 */

interface FaultOptions {
  /** What the person who reads this can do about it. */
  hint?: string;
  cause?: unknown;
}

/** True for the faults of this file: anything else that is thrown was not foreseen. */
export function isFault(error: unknown): boolean {
  return error instanceof Fault;
}

class Fault extends Error {
  readonly hint: string | undefined;

  constructor(name: string, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = name;
    this.hint = options.hint;
  }
}

/** The world did not answer as asked (throttle, timeout, full disk, lost race too many times): try the same again later. */
export class TransientFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('TransientFault', message, options);
  }
}

/** So many races for HEAD were lost in a row that the invocation gave up: what it was to do comes again. */
export class RacesLostFault extends TransientFault {}

/** The replay did not fit the time left. What was folded is committed; the next invocation goes on from there. */
export class BehindFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('BehindFault', message, options);
  }
}

/** This owner may not write now: HEAD was written under a plan that this code does not carry, or another owner has the slice. */
export class HeldFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('HeldFault', message, options);
  }
}

/** One slice's state does not fit the memory of an environment. What it has committed stays, its records wait in the stream. */
export class StateTooLargeFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('StateTooLargeFault', message, options);
  }
}

/** Something that a person has set up is missing, refused or another one's: trying again helps once that is put right. */
export class ConfigurationFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('ConfigurationFault', message, options);
  }
}

/** Stored bytes are not what was written: checksum, magic, or a reference that leads nowhere. Never use them. */
export class CorruptStateFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('CorruptStateFault', message, options);
  }
}

/** Records that the state needs are no longer in the stream. Stop and tell a person. */
export class ReplayGapFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('ReplayGapFault', message, options);
  }
}

/**
 * The stream and the checkpoints do not belong together: another stream took the name of the one before, or one of the two
 * is older than the other. Going on would drop records or count others for them. Stop and tell a person.
 */
export class StreamMismatchFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('StreamMismatchFault', message, options);
  }
}

/**
 * State that there must be is gone: a table that was emptied or made again, a file or folder that was removed or replaced.
 * That is never a beginning. Stop and tell a person.
 */
export class LostStateFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('LostStateFault', message, options);
  }
}

/** Data of a newer format than this code reads: upgrade Tidemark, never guess. */
export class NewerFormatFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('NewerFormatFault', message, options);
  }
}

/** Data of an older format, which this code does not read: start empty, or keep the code that wrote it. */
export class OlderFormatFault extends Fault {
  constructor(message: string, options?: FaultOptions) {
    super('OlderFormatFault', message, options);
  }
}

/** A broken invariant: a bug. Crash; do not retry with the same memory. */
export class InvariantFault extends Fault {
  readonly invariant: string;

  constructor(invariant: string, detail?: string) {
    super('InvariantFault', detail === undefined ? invariant : `${invariant}: ${detail}`);
    this.invariant = invariant;
  }
}
