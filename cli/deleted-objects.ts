/**
 * Bringing back objects of a pipeline's bucket that were deleted: with versions on, a deletion puts a marker over the object, and
 * taking the marker away brings the object back. Nothing is written, and no object that is there is touched.
 */
import { DeleteObjectCommand, ListObjectVersionsCommand, type S3Client } from '@aws-sdk/client-s3';

export interface DeletedObject {
  readonly key: string;
  /** Of the marker that lies over it. */
  readonly markerId: string;
  /** ISO 8601. */
  readonly deleted: string;
}

/** Objects below `prefix` that were deleted and of which a version is still kept, by key. */
export async function deletedObjects(
  client: S3Client,
  bucket: string,
  prefix: string,
): Promise<DeletedObject[]> {
  const markers: DeletedObject[] = [];
  const kept = new Set<string>();
  let at: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | null = {};
  while (at !== null) {
    const command: ListObjectVersionsCommand = new ListObjectVersionsCommand({
      Bucket: bucket,
      Prefix: prefix,
      ...at,
    });
    const page = await client.send(command);
    for (const { Key, VersionId, IsLatest, LastModified } of page.DeleteMarkers ?? []) {
      if (IsLatest !== true || Key === undefined || VersionId === undefined) continue;
      markers.push({ key: Key, markerId: VersionId, deleted: LastModified?.toISOString() ?? '' });
    }
    for (const { Key } of page.Versions ?? []) if (Key !== undefined) kept.add(Key);
    at = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
      : null;
  }
  // A marker over nothing is what is left when the version has expired.
  return markers.filter(({ key }) => kept.has(key));
}

/** Takes the markers away. */
export async function bringBack(
  client: S3Client,
  bucket: string,
  objects: readonly DeletedObject[],
): Promise<void> {
  for (const { key, markerId } of objects) {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, VersionId: markerId }));
  }
}
