/** What Lambda tells an invocation about itself, as far as it is used. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
  /** What Lambda's own lines in the log name the invocation by. */
  readonly awsRequestId?: string;
}
