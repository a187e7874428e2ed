/** What Lambda tells an invocation about itself, as far as it is used. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
}
