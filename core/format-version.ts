/** Stored things of another format than this code's are refused by name, before a byte of them is used. */
import { NewerFormatFault, OlderFormatFault } from './faults.ts';

/** `what` names the stored thing in the message that a person reads. Returns only if `found` is `expected`. */
export function requireFormat(what: string, found: number, expected: number): void {
  const message = `${what} has format ${found}; this Tidemark reads format ${expected} only`;
  if (found > expected) {
    throw new NewerFormatFault(message, {
      hint: 'upgrade tidemark to the version that wrote it, or use another data folder',
    });
  }
  if (found < expected) {
    throw new OlderFormatFault(message, {
      hint: 'Tidemark has not been released, so it does not convert what earlier code stored: start with an empty data folder (on AWS with a new stack), or keep the code that wrote this',
    });
  }
}
