/**
 * Only the pipeline's own mapping invokes the aggregate function.
 */
import type { Refusal } from './refusal.ts';

/** The paths of others. */
export function guardOtherMappings(paths: readonly string[]): Refusal[] {
  return paths.map((path) => ({
    found: `${path} is a second event source mapping of the aggregate function`,
    expected:
      "the pipeline's own alone: another may begin where records are missed, and two read and fold each record twice (docs/adr/0015)",
    todo: 'take it away; to fold another stream deploy a second pipeline',
  }));
}
