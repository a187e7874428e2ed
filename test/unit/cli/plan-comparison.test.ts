import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { readActivePlan } from '../../../cli/active-plan.ts';
import { compareWithActive, describeComparison } from '../../../cli/plan-comparison.ts';
import { headItem } from '../../../core/checkpoint/head.ts';
import type { BlobReference } from '../../../core/checkpoint/names.ts';
import { firstHead } from '../../../core/checkpoint/transitions.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { canonicalJson, planToJson } from '../../../core/definition/plan-json.ts';
import { START } from '../../../core/position.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const SHOP = {
  name: 'shop',
  time: { field: 'at', skew: '10m' },
  views: { by_shop: { groupBy: ['shop'], aggregates: { orders: { count: '*' } } } },
};

function planOf(changes: object): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify({ ...SHOP, ...changes })));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const active = planOf({});
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

/** A store as `dev` makes it, held open as `dev` does; plans are activated one after the other. */
async function withActive<T>(pipelines: readonly string[], use: () => T | Promise<T>): Promise<T> {
  const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
  try {
    const registry = new LocalPlanRegistry(database);
    for (const [index, pipeline] of pipelines.entries()) {
      const plan = { ordinal: index + 1, hash: active.hash, pipeline };
      expect(await registry.activate(plan)).toBe('applied');
    }
    return await use();
  } finally {
    database.close();
  }
}

/** The HEAD of a slice that runs by the active plan, and left another one at a time. */
async function writeSlice(leftHash: string, sinceMs: number): Promise<void> {
  const range = { start: '0'.repeat(32), end: 'f'.repeat(32) };
  const first = firstHead({
    ...{ sliceId: 'slice-000000000000', shardId: 'shardId-000000000000', range },
    ...{ streamId: '0'.repeat(16), planOrdinal: 1, planHash: active.hash, nonce: '0'.repeat(16) },
  });
  const name = { kind: 'delta', timeline: 0, nonce: '1'.repeat(16) } as const;
  const delta = (epoch: number): BlobReference => ({
    ...{ ...name, epoch, byteLength: 1, checksum: 0, place: 'item' },
  });
  const previous = {
    planHash: leftHash,
    base: null,
    chainSince: 0,
    delta: delta(4),
    cursor: START,
    sinceMs,
  };
  const head = { ...first, epoch: 5, delta: delta(5), chainLength: 5, previous };
  const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
  try {
    const store = new LocalCheckpointStore(database);
    expect(await store.createHead(headItem(head))).toEqual({ outcome: 'applied' });
  } finally {
    database.close();
  }
}

const ACTIVE_TEXT = canonicalJson(planToJson(active));

describe('the active plan of a data folder', () => {
  it('is none where the folder, its database or a plan in it is missing', async () => {
    expect(readActivePlan(join(folder, 'missing'))).toBeNull();
    expect(readActivePlan(folder)).toBeNull();
    expect(await withActive([], () => readActivePlan(folder))).toBeNull();
  });

  it('is the newest, read beside the process that has the folder', async () => {
    const plan = await withActive(['{}', ACTIVE_TEXT], () => readActivePlan(folder));
    expect(plan).toEqual({ ordinal: 2, hash: active.hash, pipeline: ACTIVE_TEXT });
  });

  it('is not made up where the file is no database', () => {
    writeFileSync(join(folder, 'checkpoint.db'), 'no database at all, only some text'.repeat(200));
    expect(() => readActivePlan(folder)).toThrow(/not a database/);
  });
});

describe('a plan beside the active one', () => {
  const compare = (plan: Plan, pipelines = [ACTIVE_TEXT]) =>
    withActive(pipelines, () =>
      describeComparison(compareWithActive(plan, folder, NOW_MS), folder),
    );

  it('is not compared with itself, nor where there is none', async () => {
    expect(await compare(active)).toEqual([]);
    expect(await compare(active, [])).toEqual([]);
  });

  it('costs nothing where a policy changes, and says so', async () => {
    const lines = await compare(planOf({ time: { ...SHOP.time, skew: 'none' } }));
    expect(lines[0]).toBe(
      `compared with plan 1 (${active.hash.slice(0, 8)}), which ${folder} runs by:`,
    );
    const from = lines.indexOf('what would become of its views:');
    expect(lines.slice(1, from)).toContain('  time.skew 10m → none');
    expect(lines.slice(from + 1, -1)).toEqual([
      '  by_shop keeps its state',
      '  time.skew holds from the switch on',
      '  time.earliest holds from the switch on',
    ]);
    expect(lines.at(-1)).toBe(
      `plan ${active.hash.slice(0, 8)} can come back, exactly as it is, without loss: within 24 h, and before any other change`,
    );
  });

  it('says what begins and what is left', async () => {
    const views = { by_shop: { groupBy: ['city'], aggregates: { orders: { count: '*' } } } };
    const change = await withActive([ACTIVE_TEXT], () =>
      compareWithActive(planOf({ views }), folder, NOW_MS),
    );
    expect(change).toMatchObject({
      activePlan: { ordinal: 1, hash: active.hash },
      views: [
        { view: 'by_shop', fate: 'begins', because: ['its groupBy'] },
        { view: 'by_shop', fate: 'left' },
      ],
      policies: [],
    });
  });

  it('says what state that is kept for a rollback would end, and what would go on from there', async () => {
    const kept = planOf({
      views: { by_city: { groupBy: ['city'], aggregates: { orders: { count: '*' } } } },
    });
    const policy = planOf({ time: { ...SHOP.time, lateness: '5m' } });
    const left = `rollback to plan ${kept.hash.slice(0, 8)}, which was left less than 24 h ago, ends`;
    const lines = async (plan: Plan, leftMs: number) =>
      withActive([ACTIVE_TEXT], async () => {
        await writeSlice(kept.hash, leftMs);
        return describeComparison(compareWithActive(plan, folder, NOW_MS), folder).join('\n');
      });
    expect(await lines(policy, NOW_MS - HOUR_MS)).toContain(left);
    folder = await temporaryFolder();
    expect(await lines(kept, NOW_MS - HOUR_MS)).toMatch(/by_city goes on from where it was left/);
    folder = await temporaryFolder();
    const late = await lines(policy, NOW_MS - 25 * HOUR_MS);
    expect(late).toContain('by_shop keeps its state');
    expect(late).not.toContain('rollback to plan');
  });

  it.each([{ name: 'other', stream: 'shop' }, { stream: 'other' }])(
    'of another pipeline is refused first, as dev does: %j',
    async (other) => {
      const lines = await compare(planOf(other));
      expect(lines).toEqual([
        expect.stringContaining("it has the state of pipeline 'shop' over stream 'shop'"),
      ]);
    },
  );

  it.each([
    ['that this version cannot read', '{"views":1}', /cannot read its active plan/],
    ['that is no JSON', '{', /not compared with the plan of .*: .*JSON/],
  ])('says so beside one %s', async (_, pipeline, message) => {
    const lines = await compare(planOf({ name: 'other' }), [pipeline]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(message);
  });

  it('says so where the file is no database', () => {
    writeFileSync(join(folder, 'checkpoint.db'), 'no database at all, only some text'.repeat(200));
    expect(compareWithActive(active, folder, NOW_MS)).toEqual({
      failure: expect.stringContaining('not a database'),
    });
  });
});
