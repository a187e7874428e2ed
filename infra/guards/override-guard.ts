/**
 * What the functions are told, and who may call them, is as the construct said it.
 */
import { canonicalJson } from '../../core/definition/plan-json.ts';
import type { Refusal } from './refusal.ts';

type Variables = Readonly<Record<string, unknown>>;

export interface EnvironmentFacts {
  readonly functionName: string;
  /** As the construct set them. */
  readonly wanted: Variables;
  readonly rendered: Variables;
}

export function guardEnvironment({ functionName, wanted, rendered }: EnvironmentFacts): Refusal[] {
  return Object.entries(wanted)
    .map(([name, value]) => [name, text(value), text(rendered[name])] as const)
    .filter(([, set, found]) => set !== found)
    .map(([name, set, found]) => ({
      found: `${name} of the ${functionName} function is ${found}`,
      expected: `${set}, as its other functions, its roles and the lock file have it`,
      todo: 'take the addEnvironment or override away; say it by a property of the construct',
    }));
}

function text(value: unknown): string {
  return value === undefined ? 'absent' : canonicalJson(value);
}

export interface UrlFacts {
  readonly path: string;
  readonly authType: unknown;
}

export function guardUrls(urls: readonly UrlFacts[]): Refusal[] {
  return urls
    .filter(({ authType }) => authType !== 'AWS_IAM')
    .map(({ path, authType }) => ({
      found: `AuthType of the function URL ${path} is ${text(authType)}`,
      expected:
        'AWS_IAM: every caller that knows the URL could read the views, or checkpoint and redrive',
      todo: 'take it away; grantRead and grantAdmin give a principal the right to call',
    }));
}

export interface RetentionOverride {
  /** What the functions are told. */
  readonly hours: number;
  /** What the stream of this app will have. */
  readonly renderedHours: unknown;
}

export function guardRenderedRetention({ hours, renderedHours }: RetentionOverride): Refusal[] {
  if (renderedHours === hours) return [];
  return [
    {
      found: `RetentionPeriodHours of the stream is ${text(renderedHours)}`,
      expected: `${hours}, as the functions are told: by it they know what can be replayed`,
      todo: 'take the override away; give the construct `retention`, or the given stream its `retentionPeriod`',
    },
  ];
}
