/**
 * Every role still has what `permissions.ts` says: a policy that was thinned out by an aspect or an escape hatch fails here, and
 * not at the first checkpoint.
 */
import { canonicalJson } from '../../core/definition/plan-json.ts';
import type { Refusal } from './refusal.ts';

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action?: string | readonly string[];
  readonly Resource?: unknown;
}

export interface RoleFacts {
  /** Of whose role. */
  readonly functionName: string;
  readonly needs: readonly { readonly action: string; readonly resource: unknown }[];
  readonly statements: readonly Statement[];
}

export function guardPermissions({ functionName, needs, statements }: RoleFacts): Refusal[] {
  return needs
    .filter(({ action, resource }) => {
      const matching = statements.filter((statement) => names(statement, action, resource));
      return matching.length === 0 || matching.some(({ Effect: effect }) => effect === 'Deny');
    })
    .map(({ action, resource }) => ({
      found: `the role of the ${functionName} function lacks ${action} on ${canonicalJson(resource)}`,
      expected: 'every line of the permissions table (docs/operations.md)',
      todo: 'take away the aspect or override that removes or denies it, or grant it again',
    }));
}

function names(
  { Action: action, Resource: resource }: Statement,
  wantedAction: string,
  wantedResource: unknown,
): boolean {
  const wanted = canonicalJson(wantedResource);
  return (
    asList(action).some((one) => one === wantedAction || one === '*') &&
    asList(resource).some((one) => one === '*' || canonicalJson(one ?? null) === wanted)
  );
}

function asList<Value>(value: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value as Value];
}
