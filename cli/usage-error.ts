/**
 * The command was called wrongly: the message says how, and the process ends with 2.
 */
export class UsageError extends Error {}
