import type { S3Client } from '@aws-sdk/client-s3';
import { Command } from 'commander';
import { jsonOption, regionOption } from '../option-values.ts';
import { formatTable } from '../table.ts';
import { UsageError } from '../usage-error.ts';

interface UndeleteOptions {
  readonly bucket: string;
  readonly since?: string;
  readonly region?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function undeleteCommand(): Command {
  return new Command('undelete')
    .description(
      "bring back deleted objects of a pipeline's bucket on AWS, while it keeps their versions (2 days)",
    )
    .argument(
      '<key...>',
      'keys, or what several begin with, as a fault names them, after the key prefix',
    )
    .requiredOption(
      '--bucket <name>',
      "the pipeline's bucket, an output of its stack that ends in BucketName",
    )
    .option('--since <time>', 'only what was deleted from this time on, ISO 8601 with its offset')
    .option('--dry-run', 'say what would come back, and leave it')
    .addOption(regionOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nNeeds s3:ListBucketVersions on the bucket and s3:DeleteObjectVersion on its objects, and the package @aws-sdk/client-s3 beside this one. Ends with 1 if nothing was found.',
    )
    .action(undelete);
}

async function undelete(keys: readonly string[], options: UndeleteOptions): Promise<void> {
  const { bucket, dryRun = false, json = false } = options;
  const sinceMs = options.since === undefined ? -Infinity : Date.parse(options.since);
  if (Number.isNaN(sinceMs)) {
    throw new UsageError(`--since ${options.since}: expected a time such as 2026-01-31T12:00:00Z`);
  }
  const client = await openS3(options.region);
  // Loaded with the client: a command that asks no S3 must not need its package.
  const { bringBack, deletedObjects } = await import('../deleted-objects.ts');
  const found = new Map<string, Awaited<ReturnType<typeof deletedObjects>>[number]>();
  for (const key of keys) {
    for (const object of await deletedObjects(client, bucket, key)) {
      if (Date.parse(object.deleted) >= sinceMs) found.set(object.key, object);
    }
  }
  const objects = [...found.values()];
  if (!dryRun) await bringBack(client, bucket, objects);
  if (objects.length === 0) process.exitCode = 1;
  console.log(
    json ? JSON.stringify({ objects, isBack: !dryRun }, null, 2) : describe(objects, dryRun),
  );
}

async function openS3(region: string | undefined): Promise<S3Client> {
  try {
    const { S3Client } = await import('@aws-sdk/client-s3');
    return new S3Client({
      ...(region === undefined ? {} : { region }),
      // An emulator serves all buckets at one host.
      forcePathStyle: Boolean(process.env['AWS_ENDPOINT_URL']),
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError(
      'undelete needs a package that the others do not: npm install @aws-sdk/client-s3, or follow docs/operations.md, "Undelete an object", with the AWS CLI',
    );
  }
}

function describe(
  objects: readonly { readonly key: string; readonly deleted: string }[],
  dryRun: boolean,
): string {
  if (objects.length === 0) {
    return 'nothing that was deleted is kept under these keys: versions are kept for 2 days, and not at stage dev';
  }
  const table = formatTable(
    ['key', 'deleted'],
    objects.map(({ key, deleted }) => [key, deleted]),
  );
  return `${table}\n${objects.length} ${dryRun ? 'would come back (--dry-run)' : 'are back'}`;
}
