/**
 * Ticks of the function that is deployed: an invocation has its environment for itself, so the rounds of a long redrive follow
 * each other in it. Between two of them, deliveries of other environments commit.
 */
import type { AggregateHandler } from './handler.ts';

/** Less than lies between two ticks of the schedule. */
const ROUNDS_MS_MAX = 45_000;
/** Not a round is begun with less than this. */
const TIME_LEFT_MS_MIN = 20_000;

export function tickingOn(handler: AggregateHandler, nowMs = () => performance.now()) {
  const ticking: AggregateHandler = async (event, context) => {
    const beganMs = nowMs();
    const reports = await handler(event, context);
    if (!('tidemark' in event) || event.tidemark !== 'tick') return reports;
    const hasTime = () =>
      nowMs() - beganMs < ROUNDS_MS_MAX && context.getRemainingTimeInMillis() > TIME_LEFT_MS_MIN;
    while (reports.at(-1)?.isUnfinished === true && hasTime()) {
      reports.push(...(await handler(event, context)));
    }
    return reports;
  };
  return ticking;
}
