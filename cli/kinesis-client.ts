/**
 * A Kinesis client for the local endpoint, or for AWS by AWS's own rules.
 */
import { KinesisClient } from '@aws-sdk/client-kinesis';

export interface KinesisTarget {
  readonly aws: boolean;
  readonly endpoint: string;
  readonly region?: string;
}

export function kinesisClient(target: KinesisTarget): KinesisClient {
  const region = target.region === undefined ? {} : { region: target.region };
  if (target.aws) return new KinesisClient(region);
  return new KinesisClient({
    endpoint: target.endpoint,
    region: target.region ?? 'us-east-1',
    // The local endpoint takes any; requests to it are signed all the same.
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
}
