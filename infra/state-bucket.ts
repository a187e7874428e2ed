/**
 * The S3 bucket, unless one is given: larger deltas, bases, runs.
 *
 * - Current objects never expire: only the pipeline knows what a HEAD reaches.
 * - Versions protect what the state is kept for: for two days after its deletion an object can be brought back, so that
 *   the table, restored to a point in those, finds what it names. A bucket that goes with its stack has nothing to protect.
 */
import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

const NONCURRENT_KEPT = Duration.days(2);
const UPLOAD_KEPT = Duration.days(1);

export function stateBucket(
  scope: Construct,
  settings: PipelineSettings,
  given: IBucket | undefined,
): IBucket {
  if (given !== undefined) return given;
  const { removalPolicy } = settings;
  const bucket = new Bucket(scope, 'Bucket', {
    ...explicitName(settings, 'bucketName', 'state'),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    enforceSSL: true,
    encryption: BucketEncryption.S3_MANAGED,
    versioned: removalPolicy !== RemovalPolicy.DESTROY,
    lifecycleRules: [
      {
        id: 'what-was-deleted-and-what-was-never-finished',
        noncurrentVersionExpiration: NONCURRENT_KEPT,
        abortIncompleteMultipartUploadAfter: UPLOAD_KEPT,
        expiredObjectDeleteMarker: true,
      },
    ],
    removalPolicy,
  });
  Validations.of(bucket).acknowledge({
    id: 'AwsSolutions-S1',
    reason:
      'Only the functions of the pipeline use the bucket. An access log would be a line for each checkpoint, and its bucket would need the same care; CloudTrail data events serve an audit.',
  });
  // CDK's own types disagree where `undefined` is not the same as absent.
  return bucket as IBucket;
}
