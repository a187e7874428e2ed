/**
 * What a guard says: what was found, what was expected, and what a person can do about it. A guard is a function from facts
 * to refusals; none means that it passes.
 */
export interface Refusal {
  readonly found: string;
  readonly expected: string;
  readonly todo: string;
}

export function refusalText({ found, expected, todo }: Refusal): string {
  return `${found}\n    expected  ${expected}\n    to do     ${todo}`;
}

/** Throws one error with all refusals, if there are any. */
export function refuse(where: string, refusals: readonly Refusal[]): void {
  if (refusals.length === 0) return;
  throw new Error(`[${where}] ${refusals.map(refusalText).join('\n\n')}`);
}
