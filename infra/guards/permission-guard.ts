/**
 * Every role still has what `permissions.ts` says: a policy that was thinned out by an aspect or an escape hatch fails here, and
 * not at the first checkpoint.
 */
import { canonicalJson } from '../../core/definition/plan-json.ts';
import type { Refusal } from './refusal.ts';

export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action?: string | readonly string[];
  readonly NotAction?: string | readonly string[];
  readonly Resource?: unknown;
  readonly NotResource?: unknown;
  readonly Condition?: unknown;
}

interface Need {
  readonly action: string;
  readonly resource: unknown;
  /** The one under which it may be granted. */
  readonly condition?: object | undefined;
}

export interface RoleFacts {
  /** Of whose role. */
  readonly functionName: string;
  readonly needs: readonly Need[];
  readonly statements: readonly Statement[];
}

export function guardPermissions({ functionName, needs, statements }: RoleFacts): Refusal[] {
  return needs
    .filter((need) => {
      const isGranted = statements.some((statement) => grants(statement, need));
      return !isGranted || statements.some((statement) => mayDeny(statement, need));
    })
    .map(({ action, resource }) => ({
      found: `the role of the ${functionName} function lacks ${action} on ${canonicalJson(resource)}`,
      expected:
        'every line of the permissions table (docs/operations.md), without another condition',
      todo: 'take away the aspect or override that removes, denies or narrows it, or grant it again',
    }));
}

/** Whether a condition holds is not known here, and what is named by what it is not may be anything: neither is a grant. */
function grants({ Effect: effect, ...statement }: Statement, need: Need): boolean {
  if (effect !== 'Allow' || !isConditionOf(need, statement.Condition)) return false;
  const { Action: actions, Resource: resources } = statement;
  return isActionIn(actions, need.action) && isResourceIn(resources, need.resource);
}

function isConditionOf({ condition }: Need, found: unknown): boolean {
  if (found === undefined) return true;
  return condition !== undefined && canonicalJson(found) === canonicalJson(condition);
}

/** A denial with a condition may hold. */
function mayDeny({ Effect: effect, ...statement }: Statement, need: Need): boolean {
  if (effect !== 'Deny') return false;
  const { Action: actions, NotAction: notActions } = statement;
  const { Resource: resources, NotResource: notResources } = statement;
  return (
    (notActions === undefined
      ? isActionIn(actions, need.action)
      : !isActionIn(notActions, need.action)) &&
    (notResources === undefined
      ? isResourceIn(resources, need.resource)
      : !isResourceIn(notResources, need.resource))
  );
}

/** `*` is any text; case does not matter. */
function isActionIn(patterns: Statement['Action'], action: string): boolean {
  return asList(patterns).some((pattern) => {
    const source = (pattern ?? '').split('*').map(literal).join('.*');
    return new RegExp(`^${source}$`, 'i').test(action);
  });
}

function literal(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9]/g, '\\$&');
}

function isResourceIn(resources: unknown, resource: unknown): boolean {
  const wanted = canonicalJson(resource);
  return asList(resources).some((one) => one === '*' || canonicalJson(one ?? null) === wanted);
}

function asList<Value>(value: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(value) ? value : [value as Value];
}
