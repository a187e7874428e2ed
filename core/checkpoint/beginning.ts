/**
 * How a slice begins. A slice without HEAD is new, or its HEAD was lost: the store of HEADs cannot tell, so the store of
 * objects keeps a *birth record*, under a name that no blob of the slice has.
 *
 *   no plan is active ─ lost │ a birth record ─ HEAD read again ─ none: lost │ no birth record ─ HEAD ─ birth record
 *
 * Invariants: a slice begins once; its birth record is durable before its first epoch. A crash between HEAD and birth record
 * leaves a HEAD of epoch 0, and the next reader of that HEAD makes up for it.
 */
import { encodeText } from '../bytes.ts';
import { LostStateFault, TransientFault } from '../faults.ts';
import type { BlobStore, CheckpointStore } from '../ports.ts';
import { type Head, headItem, parseHead } from './head.ts';

export interface BeginningPorts {
  readonly heads: Pick<CheckpointStore, 'readHead' | 'createHead'>;
  readonly objects: BlobStore;
}

const BIRTHS = 'births/';

/** The way out of every lost state, on AWS and on one machine. */
const WAY_OUT =
  'restore the table, or checkpoint.db, from a backup; to begin again on purpose, delete the objects of the pipeline first (docs/operations.md)';

/** HEAD of a slice that has none. `first` makes it, once it is certain that the slice is new. */
export async function beginSlice(
  sliceId: string,
  ports: BeginningPorts,
  first: () => Promise<Head>,
): Promise<Head> {
  if ((await ports.objects.read(birthKey(sliceId))) !== null) {
    // Another environment may have begun it a moment ago.
    const item = await ports.heads.readHead(sliceId);
    if (item === null) throw headIsLost(sliceId);
    return parseHead(item);
  }
  const head = await first();
  const answer = await ports.heads.createHead(headItem(head));
  if (answer.outcome === 'refused' && answer.current === null) {
    throw new TransientFault(`HEAD of ${sliceId} was refused and is not there`);
  }
  await recordBirth(head, ports.objects);
  return answer.outcome === 'refused' && answer.current !== null ? parseHead(answer.current) : head;
}

/** Durable when it returns. A record that is there already is left as it is. */
export async function recordBirth(
  { sliceId }: Pick<Head, 'sliceId'>,
  objects: BlobStore,
): Promise<void> {
  await objects.create(birthKey(sliceId), encodeText(`${sliceId} has a HEAD\n`));
}

/** True if a slice of the pipeline ever began, whatever became of its HEAD. */
export async function hasBirths(objects: BlobStore): Promise<boolean> {
  return (await objects.list(BIRTHS, null, 1)).length > 0;
}

/** A slice is asked for, and no plan is active: activation comes before the first batch, always. */
export function planIsLost(what: string): LostStateFault {
  return new LostStateFault(
    `${what}, but no plan of the pipeline is active: the table was emptied or made again, or checkpoint.db was removed`,
    { hint: WAY_OUT },
  );
}

/** HEADs or birth records without a plan: what would be activated is not the first plan. */
export function registryIsLost(evidence: string): LostStateFault {
  return new LostStateFault(
    `the pipeline has ${evidence}, but no plan was ever activated in this store: the table was emptied or made again, or checkpoint.db was removed`,
    { hint: WAY_OUT },
  );
}

function headIsLost(sliceId: string): LostStateFault {
  return new LostStateFault(
    `slice ${sliceId} has no HEAD, but ${birthKey(sliceId)} among the objects says that it had one: its item was deleted, or the table is not the one of before`,
    { hint: WAY_OUT },
  );
}

function birthKey(sliceId: string): string {
  return `${BIRTHS}${sliceId}`;
}
