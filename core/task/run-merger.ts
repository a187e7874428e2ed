/**
 * Merges of runs that are too large for a commit: by ticks, in rounds, so that batches go between two of them. What a merge makes
 * is an orphan until a base lists it, by whichever commit of this environment writes the next one. A merge that lost its race is
 * given up: then what it merged is not listed any more, so another one has done that work.
 *
 * Invariant: nothing here writes HEAD; what is read is immutable, and held against the manifest before it is adopted.
 */
import { BlobWriter } from '../checkpoint/blob-writer.ts';
import { type BlobStores, readBlobRange } from '../checkpoint/blobs.ts';
import { decideRunMerge, type RunGroup } from '../checkpoint/compaction.ts';
import type { Head } from '../checkpoint/head.ts';
import type { RunReference } from '../checkpoint/manifest.ts';
import { isAdoptable, type MergedRun, type MergeGround } from '../checkpoint/merged-run.ts';
import { type BlobReference, blobKey, sameBlob } from '../checkpoint/names.ts';
import { RunReader } from '../checkpoint/run.ts';
import type { LivingView } from '../checkpoint/run-index.ts';
import { mergeRuns, type RunSource, sourceOf } from '../checkpoint/run-merge.ts';
import { CorruptStateFault, TransientFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import type { NonceSource } from '../ports.ts';
import type { OwnerMemory } from './owner-memory.ts';

export interface MergerPorts {
  readonly blobs: BlobStores;
  readonly nonces: NonceSource;
  readonly knobs: Knobs;
}

type MergeMemory = Pick<OwnerMemory, 'head' | 'checkpoint' | 'state'>;

export class RunMerger {
  readonly #ports: MergerPorts;
  #job: MergeJob | null = null;
  #finished: MergedRun | null = null;
  /** Keys of runs that could not be read here: they are left as they are, for their readers to tell of. */
  readonly #damaged = new Set<string>();
  /** The base of which nothing can be merged here. */
  #done: BlobReference | null = null;

  constructor(ports: MergerPorts) {
    this.#ports = ports;
  }

  /** Whether a tick has something to do here. */
  isDue({ awaitsMerge, base }: Head): boolean {
    const isDone = base !== null && this.#done !== null && sameBlob(base, this.#done);
    return awaitsMerge && !isDone;
  }

  /** What the next base may list. */
  get finished(): MergedRun | null {
    return this.#finished;
  }

  /** A base was committed: it lists what was finished, or no later one can. */
  settle(): void {
    this.#finished = null;
  }

  /**
   * Goes on until the round is over, a little at least; gives the bytes that it has finished. Throws `TransientFault`, and begins
   * anew in the next round then.
   */
  async round(memory: MergeMemory, isOver: () => boolean): Promise<number> {
    const job = await this.#jobFor(memory);
    this.#job = job;
    if (job === null) {
      this.#done = memory.head.base;
      return 0;
    }
    try {
      do this.#finished = await job.step();
      while (this.#finished === null && !isOver());
    } catch (fault) {
      this.#job = null;
      await abandoned(job);
      if (!(fault instanceof DamagedRun)) throw fault;
      this.#damaged.add(blobKey(memory.head.sliceId, fault.run));
    }
    if (this.#finished === null) return 0;
    this.#job = null;
    return this.#finished.run.byteLength;
  }

  /** The merge that goes on, if it is of use still, or another one; null if nothing is to be merged. */
  async #jobFor({ head, checkpoint, state }: MergeMemory): Promise<MergeJob | null> {
    const { runs } = checkpoint.manifest;
    const living = state.image.living();
    const job = this.#job;
    if (job !== null) {
      if (isAdoptable(job, { head, runs, living })) return job;
      await abandoned(job);
    }
    const sound = runs.filter((run) => !this.#damaged.has(blobKey(head.sliceId, run)));
    const merge = decideRunMerge({ runs: sound, incomingBytes: null }, this.#ports.knobs);
    return merge.kind === 'by-tick' ? new MergeJob(head, merge, living, this.#ports) : null;
  }
}

/** One merge, some entries at a time. */
class MergeJob {
  readonly absorbed: readonly RunReference[];
  readonly living: MergeGround['living'];
  /** What the run is named by: it may be adopted by the commit of a later epoch. */
  readonly run: Pick<Head, 'timeline' | 'epoch'> & { readonly nonce: string };
  readonly #level: number;
  readonly #writer: BlobWriter;
  readonly #bytes: ReturnType<typeof mergeRuns>;

  constructor(
    { sliceId, timeline, epoch }: Head,
    { absorbed, level }: RunGroup,
    living: readonly LivingView[],
    { blobs, nonces, knobs }: MergerPorts,
  ) {
    this.absorbed = absorbed;
    this.living = living;
    this.#level = level;
    this.run = { timeline, epoch: epoch + 1, nonce: nonces.nonce() };
    this.#writer = new BlobWriter(blobs, sliceId, { ...this.run, kind: 'run' }, knobs);
    const sources = absorbed.map((run) => storedSource(sliceId, run, blobs));
    this.#bytes = mergeRuns(living, sources, knobs.runBlockBytes);
  }

  /** The run, once it is durable; null before. */
  async step(): Promise<MergedRun | null> {
    const next = await this.#bytes.next();
    if (!next.done) {
      await this.#writer.write(next.value);
      return null;
    }
    const reference = await this.#writer.finish();
    const run = { ...reference, level: this.#level, ...next.value };
    return { run, absorbed: this.absorbed, living: this.living };
  }

  abandon(): Promise<void> {
    return this.#writer.abandon();
  }
}

/** What was written of it goes later, where the store does not answer now. */
async function abandoned(job: MergeJob): Promise<void> {
  try {
    await job.abandon();
  } catch (fault) {
    if (!(fault instanceof TransientFault)) throw fault;
  }
}

class DamagedRun extends CorruptStateFault {
  readonly run: RunReference;

  constructor(run: RunReference, cause: CorruptStateFault) {
    super(cause.message, { cause });
    this.run = run;
  }
}

/** A run as it is read from its store. Says of a fault which run it is of. */
function storedSource(sliceId: string, run: RunReference, blobs: BlobStores): RunSource {
  const reader = new RunReader(sliceId, run, (from, to) =>
    readBlobRange(blobs, sliceId, run, from, to),
  );
  const source = sourceOf(reader);
  const named = (fault: unknown) =>
    fault instanceof CorruptStateFault ? new DamagedRun(run, fault) : fault;
  return {
    async *scan(view, index) {
      try {
        yield* source.scan(view, index);
      } catch (fault) {
        throw named(fault);
      }
    },
    async countOf(living) {
      try {
        return await source.countOf(living);
      } catch (fault) {
        throw named(fault);
      }
    },
  };
}
