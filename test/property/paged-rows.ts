import { expect } from 'vitest';
import type { RunReading, SlicePart } from '../../core/query/row-sources.ts';
import type { ViewRequest } from '../../core/query/view-request.ts';
import type { ViewRow } from '../../core/query/view-row.ts';
import { readRows } from '../../core/query/view-rows.ts';

/** All rows by pages. */
export async function pagedRows(
  request: ViewRequest,
  limit: number,
  parts: readonly SlicePart[],
  reading: RunReading,
): Promise<ViewRow[]> {
  const rows: ViewRow[] = [];
  let next: ViewRequest['next'] = null;
  for (;;) {
    const page = await readRows({ ...request, limit, next }, parts, reading);
    expect(page.damaged).toEqual([]);
    rows.push(...page.rows);
    const last = page.rows.at(-1)?.position;
    if (!page.hasMore || last === undefined) return rows;
    expect(page.rows).toHaveLength(limit);
    next = { after: last } as ViewRequest['next'];
  }
}
