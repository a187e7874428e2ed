/**
 * Findings of cdk-nag's AwsSolutions that are meant to be as they are. Each names the one finding and says why; those about a
 * bucket of the pipeline's own stand beside it.
 */
import { Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Objects have names that are not known beforehand: the prefix is as narrow as S3 allows. */
export function acknowledgeObjectWildcard(role: IConstruct, objectsArn: string): void {
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::${nagText(Stack.of(role).resolve(objectsArn))}]`,
    reason: 'All objects of the pipeline, which lie below this prefix and nothing else does.',
  });
}

export function acknowledgeRuntime(scope: IConstruct): void {
  Validations.of(scope).acknowledge({
    id: 'AwsSolutions-L1',
    reason: 'Emulators lose the names of errors in their Node runtimes; this is our own.',
  });
}

/** Text with references as cdk-nag writes them: `<LogicalId.Arn>/*`. */
function nagText(value: unknown): string {
  if (typeof value === 'string') return value;
  const { Ref: ref, 'Fn::GetAtt': attribute, 'Fn::Join': join } = value as CfnText;
  if (join !== undefined) return join[1].map(nagText).join(join[0]);
  if (attribute !== undefined) return `<${attribute.join('.')}>`;
  return ref === undefined ? JSON.stringify(value) : `<${ref}>`;
}

interface CfnText {
  readonly Ref?: string;
  readonly 'Fn::GetAtt'?: readonly string[];
  readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
}
