/**
 * One life of a data folder: what `tidemark dev` opens, without its threads, port and timers. Environments share the process, each
 * with connections of its own, and can be killed at any call.
 */
import { join } from 'node:path';
import { refuseTornCopies } from '../../adapters/local/data-folder.ts';
import { LocalCheckpointStore } from '../../adapters/local/store/local-checkpoint-store.ts';
import { LocalPlanRegistry } from '../../adapters/local/store/local-plan-registry.ts';
import { Aggregator } from '../../core/aggregator.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import type { Plan } from '../../core/definition/plan.ts';
import type { HeadItem } from '../../core/ports.ts';
import { activatePlan } from '../../core/task/plan-activation.ts';
import type { TaskPorts } from '../../core/task/slice-task.ts';
import { type FolderStores, openFolderStores } from '../../runtime/folder-stores.ts';
import { type LocalPorts, openLocalPorts, type ProcessPorts } from '../../runtime/local-ports.ts';
import { SliceHeads } from '../../runtime/slice-heads.ts';

export interface LifeOptions {
  readonly plan: Plan;
  readonly shardCount: number;
  readonly process: ProcessPorts;
  /** Told of each HEAD that was written, before its writer is. */
  readonly onHead: (item: HeadItem) => Promise<void>;
}

/** Its environment died. */
export class Killed extends Error {}

export class LocalLife {
  readonly path: string;
  readonly stores: FolderStores;
  /** Past all kills: what is there. */
  readonly ports: LocalPorts;
  readonly #options: LifeOptions;
  #environment: {
    readonly aggregator: Aggregator;
    readonly ports: LocalPorts;
    kill: KillSwitch;
  } | null = null;

  /** Opens a folder as a start of `dev` does. Throws what that throws. */
  static async open(path: string, options: LifeOptions): Promise<LocalLife> {
    const { plan, shardCount, process } = options;
    const paths = {
      streamPath: join(path, 'stream.db'),
      checkpointPath: join(path, 'checkpoint.db'),
      objectsPath: join(path, 'objects'),
    };
    refuseTornCopies(path);
    const stores = await openFolderStores(paths, {
      name: plan.stream,
      clock: process.clock,
      shardCount,
    });
    try {
      const { stream, database, objects } = stores;
      const heads = new SliceHeads(stream, new LocalCheckpointStore(database), objects);
      const { ordinal } = await activatePlan(plan, {
        registry: new LocalPlanRegistry(database),
        heads: await heads.all(),
        objects,
        nowMs: process.clock.nowMs(),
      });
      await heads.open(ordinal, plan.hash);
      return new LocalLife(path, stores, await openLocalPorts(path, process), options);
    } catch (error) {
      stores.stream.close();
      stores.database.close();
      throw error;
    }
  }

  private constructor(path: string, stores: FolderStores, ports: LocalPorts, options: LifeOptions) {
    this.path = path;
    this.stores = stores;
    this.ports = ports;
    this.#options = options;
  }

  /** Runs something in the environment; with `killAt` that dies at so many calls of its ports, before or after it is applied. */
  async invoke<T>(
    work: (aggregator: Aggregator) => Promise<T>,
    killAt: number | null,
    applies: boolean,
  ): Promise<T> {
    this.#environment ??= await this.#start();
    const { aggregator, ports, kill } = this.#environment;
    const death = kill.arm(killAt, applies);
    const running = work(aggregator);
    running.catch(() => {});
    try {
      return await Promise.race([running, death]);
    } catch (error) {
      if (error instanceof Killed) {
        this.#environment = null;
        ports.close();
      }
      throw error;
    }
  }

  /** Everything goes: what was not written is lost. */
  close(): void {
    this.#environment?.ports.close();
    this.#environment = null;
    this.ports.close();
    this.stores.stream.close();
    this.stores.database.close();
  }

  async #start() {
    const { plan, process, onHead } = this.#options;
    const ports = await openLocalPorts(this.path, process);
    const kill = new KillSwitch();
    const { heads } = ports;
    const told: TaskPorts['heads'] = {
      readHead: (sliceId) => heads.readHead(sliceId),
      listHeads: () => heads.listHeads(),
      createHead: (item) => heads.createHead(item),
      holdHead: (sliceId, hold, instead) => heads.holdHead(sliceId, hold, instead),
      writeHead: async (item, ifRevision, passing) => {
        const answer = await heads.writeHead(item, ifRevision, passing);
        if (answer.outcome === 'applied') await onHead(item);
        return answer;
      },
    };
    const { items, objects } = ports.blobs;
    const mortal: TaskPorts = {
      ...process,
      heads: kill.over(told),
      blobs: { items: kill.over(items), objects: kill.over(objects) },
      source: kill.over(ports.source),
      shards: kill.over(ports.shards),
      quarantine: kill.over(ports.quarantine),
      inbox: kill.over(ports.inbox),
      plans: kill.over(ports.plans),
      suspicions: kill.over(ports.suspicions),
    };
    const aggregator = new Aggregator(plan, createJsonDecoder(plan), mortal);
    return { aggregator, ports, kill };
  }
}

class KillSwitch {
  #callsLeft = Number.POSITIVE_INFINITY;
  #applies = false;
  #isDead = false;
  #die: (error: Killed) => void = () => {};

  /** Rejects when the environment dies. */
  arm(killAt: number | null, applies: boolean): Promise<never> {
    this.#callsLeft = killAt ?? Number.POSITIVE_INFINITY;
    this.#applies = applies;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    this.#die = reject;
    return promise;
  }

  over<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== 'function') return method;
        return async (...given: unknown[]) => {
          if (this.#isDead) return never();
          if (--this.#callsLeft > 0) return Reflect.apply(method, target, given) as unknown;
          this.#isDead = true;
          if (this.#applies) await Reflect.apply(method, target, given);
          this.#die(new Killed(`at ${String(name)}`));
          return never();
        };
      },
    });
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
