/**
 * A small IAM: may a role of the template do this? Over identity policies as rendered; references are text, `<Id.Arn>`.
 */
import type { Template } from 'aws-cdk-lib/assertions';

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

interface Policy {
  readonly Properties: {
    readonly PolicyDocument: { readonly Statement: readonly Statement[] };
    readonly Roles?: readonly { readonly Ref: string }[];
  };
}

export interface Call {
  readonly action: string;
  readonly resource: string;
  /** The partition key of the item, where a call names one. */
  readonly leadingKey?: string;
}

export class PolicySimulation {
  readonly #policies: readonly Policy[];

  constructor(template: Template) {
    this.#policies = Object.values(template.findResources('AWS::IAM::Policy')) as Policy[];
  }

  /** Statements of the role whose logical id begins like this. */
  statements(rolePrefix: string): readonly Statement[] {
    return this.#policies
      .filter(({ Properties: { Roles } }) => Roles?.some(({ Ref }) => Ref.startsWith(rolePrefix)))
      .flatMap(({ Properties: { PolicyDocument } }) => PolicyDocument.Statement);
  }

  isAllowed(rolePrefix: string, { action, resource, leadingKey }: Call): boolean {
    const matching = this.statements(rolePrefix).filter((statement) => {
      const actions = listOf(statement.Action).map(String);
      const resources = listOf(statement.Resource).map(textOf);
      return (
        actions.some((pattern) => matches(pattern.toLowerCase(), action.toLowerCase())) &&
        resources.some((pattern) => matches(pattern, resource)) &&
        holds(statement.Condition, leadingKey)
      );
    });
    return (
      matching.some(({ Effect }) => Effect === 'Allow') &&
      !matching.some(({ Effect }) => Effect === 'Deny')
    );
  }
}

/** Of conditions, those on partition keys; any other is taken to hold. */
function holds(condition: unknown, leadingKey: string | undefined): boolean {
  const { 'ForAllValues:StringLike': like, Null: absent } = (condition ?? {}) as {
    readonly 'ForAllValues:StringLike'?: Readonly<Record<string, readonly string[]>>;
    readonly Null?: Readonly<Record<string, string>>;
  };
  const patterns = like?.['dynamodb:LeadingKeys'];
  if (leadingKey === undefined) return absent?.['dynamodb:LeadingKeys'] !== 'false';
  return patterns === undefined || patterns.some((pattern) => matches(pattern, leadingKey));
}

/** A reference as text: `<Id.Arn>`, `<Id>`; joined parts joined. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const {
    Ref,
    'Fn::GetAtt': attribute,
    'Fn::Join': join,
  } = value as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly [string, string];
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
  };
  if (join !== undefined) return join[1].map(textOf).join(join[0]);
  return attribute === undefined ? `<${Ref}>` : `<${attribute.join('.')}>`;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** `*` is any text, `?` one character; in resources case matters. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
