import { describe, expect, it } from 'vitest';
import { bringBack, deletedObjects } from '../../../cli/deleted-objects.ts';
import { scriptedAws } from '../adapters-aws/scripted-aws.ts';

const version = (key: string, isLatest: boolean) =>
  `<Version><Key>${key}</Key><VersionId>v-${key}</VersionId><IsLatest>${isLatest}</IsLatest><LastModified>2026-01-01T00:00:00.000Z</LastModified></Version>`;
const marker = (key: string, id: string, isLatest: boolean) =>
  `<DeleteMarker><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${isLatest}</IsLatest><LastModified>2026-01-02T00:00:00.000Z</LastModified></DeleteMarker>`;
const page = (body: string, next = '') => ({
  status: 200,
  headers: { 'content-type': 'application/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?><ListVersionsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>${next !== ''}</IsTruncated>${next === '' ? '' : `<NextKeyMarker>${next}</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>`}${body}</ListVersionsResult>`,
});

describe('deleted objects', () => {
  it('are those with a marker on top and a version below it, over all pages', async () => {
    const { s3, requests } = await scriptedAws([
      page(marker('a', 'm1', true) + version('b', true) + marker('c', 'm0', false), 'c'),
      // The rest of what lies under a key may come on the next page.
      page(version('a', false) + version('c', true) + marker('gone', 'm2', true)),
    ]);
    expect(await deletedObjects(s3, 'flights', 'slice-1/')).toEqual([
      { key: 'a', markerId: 'm1', deleted: '2026-01-02T00:00:00.000Z' },
    ]);
    expect(requests[0]?.url).toMatch(/^\/flights\/?\?.*prefix=slice-1%2F/);
    expect(requests[1]?.url).toContain('key-marker=c');
  });

  it('come back when their markers go, and nothing else is touched', async () => {
    const { s3, requests } = await scriptedAws([{ status: 204 }, { status: 204 }]);
    const objects = ['a/1', 'a/2'].map((key, index) => ({
      key,
      markerId: `m${index}`,
      deleted: '',
    }));
    await bringBack(s3, 'flights', objects);
    expect(
      requests.map(({ method, url }) => `${method} ${url.replace('&x-id=DeleteObject', '')}`),
    ).toEqual(['DELETE /flights/a/1?versionId=m0', 'DELETE /flights/a/2?versionId=m1']);
  });
});
