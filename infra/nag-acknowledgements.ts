/**
 * Findings of cdk-nag's AwsSolutions that are meant to be as they are. Each names the one finding and says why; those about a
 * bucket of the pipeline's own stand beside it.
 */
import { Stack, Validations } from 'aws-cdk-lib';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { IConstruct } from 'constructs';

/** Objects have names that nobody knows beforehand: the prefix is as narrow as S3 allows. */
export function acknowledgeObjectWildcard(
  role: IConstruct,
  { bucket, keyPrefix }: { readonly bucket: IBucket; readonly keyPrefix: string },
): void {
  const arn = nagText(Stack.of(role).resolve(bucket.arnForObjects(`${keyPrefix}*`)));
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::${arn}]`,
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
