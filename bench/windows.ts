/**
 * What open windows of few groups take in memory, beside what the state says of itself.
 *
 *   npm run bench -- windows [windows]
 */
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { ViewPlan } from '../core/definition/plan.ts';
import { hashKey } from '../core/state/key-table.ts';
import { ViewTable } from '../core/state/view-table.ts';

const windowCount = Number(process.argv[2] ?? 50_000);
const GROUPS = [1, 3, 10, 30];
const parsed = parsePlan({
  name: 'bench',
  views: {
    v: { groupBy: ['k'], window: { tumbling: '10s' }, aggregates: { records: { count: '*' } } },
  },
});
if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
const view = parsed.plan.views[0] as ViewPlan;

console.log(`${windowCount} windows, keys of 6 bytes, a count; bytes a window`);
const tables: ViewTable[] = [];
for (const groups of GROUPS) {
  const before = heapBytes();
  const table = new ViewTable(view);
  tables.push(table);
  for (let window = 0; window < windowCount; window++) {
    for (let group = 0; group < groups; group++) {
      const key = Uint8Array.of(5, 107, 101, 121, 48 + group, 0);
      table.add(table.touch(window * 10_000, key, key.length, hashKey(key)), 0, 1);
    }
    if (window % 1_000 === 999) table.commit();
  }
  table.commit();
  // All stay, so that none goes while the next is measured.
  const bytes = (heapBytes() - before) / windowCount;
  const counted = table.heapBytes() / windowCount;
  console.log(
    `${String(groups).padStart(3)} groups   ${bytes.toFixed(0)}, by its own count ${counted.toFixed(0)}`,
  );
}

if (tables.length !== GROUPS.length) throw new Error('a table is missing');

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run with node --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
