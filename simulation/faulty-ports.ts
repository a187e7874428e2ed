/**
 * The ports as one process sees them: the shared stores behind its connection, a clock that is off by as much as the machine's
 * may be, and nonces from the seed. Limits of the services are asserted where a request leaves.
 */
import { assert } from '../core/assert.ts';
import { DEFAULT_KNOBS, type Knobs } from '../core/knobs.ts';
import { HEAD_BYTES_MAX } from '../core/limits.ts';
import type { HeadItem, NonceSource } from '../core/ports.ts';
import type { TaskPorts } from '../core/task/slice-task.ts';
import type { Connection } from './connection.ts';
import type { Random } from './random.ts';

/** What all processes share. */
export type SharedPorts = Omit<TaskPorts, 'clock' | 'pauses' | 'nonces' | 'knobs'>;

export interface ProcessHabits {
  /** Of this process's own clock. */
  readonly nowMs: () => number;
  readonly random: Random;
  readonly knobs: Partial<Knobs>;
  /** What it takes to make a base, before it is written. */
  readonly baseMs: number;
  /** A write of HEAD was applied: true if it completed an epoch. */
  readonly onHeadWritten: (item: HeadItem) => boolean;
}

const ITEM_BYTES_MAX = 400 * 1024;

export function faultyPorts(
  shared: SharedPorts,
  connection: Connection,
  habits: ProcessHabits,
): TaskPorts {
  const wrapped: Record<string, object> = {};
  for (const [port, store] of Object.entries(shared)) {
    if (port === 'heads')
      wrapped[port] = overConnection(port, told(shared.heads, connection, habits), connection);
    else if (port !== 'blobs') wrapped[port] = overConnection(port, store as object, connection);
  }
  const { items, objects } = shared.blobs;
  return {
    ...(wrapped as unknown as SharedPorts),
    blobs: {
      items: overConnection('items', items, connection),
      objects: overConnection('objects', objects, connection, habits.baseMs),
    },
    clock: { nowMs: habits.nowMs },
    pauses: {
      pause: (ms) => connection.pause(ms),
      yield: () => connection.pause(0),
    },
    nonces: drawnNonces(habits.random),
    knobs: { ...DEFAULT_KNOBS, ...habits.knobs },
  };
}

/** Tells of the writes that were applied, past everything that may become of their answers. */
function told(
  heads: SharedPorts['heads'],
  connection: Connection,
  { onHeadWritten }: ProcessHabits,
): SharedPorts['heads'] {
  return {
    readHead: (sliceId) => heads.readHead(sliceId),
    listHeads: () => heads.listHeads(),
    createHead: (item) => heads.createHead(item),
    holdHead: (sliceId, hold, instead) => heads.holdHead(sliceId, hold, instead),
    writeHead: async (item, ifRevision, passing) => {
      const answer = await heads.writeHead(item, ifRevision, passing);
      const { epochsCompleted } = connection;
      const name = `${item.sliceId} ${item.revision}`;
      if (answer.outcome === 'applied') {
        if (onHeadWritten(item) && connection.isOfThisInvocation(item)) epochsCompleted.add(name);
      } else if (answer.current?.revision !== item.revision) {
        // Another writer came after it: that it was applied cannot be told any more.
        epochsCompleted.delete(name);
      }
      return answer;
    },
  };
}

/** 64 bits of the seed: as good as never the same twice. */
function drawnNonces(random: Random): NonceSource {
  const word = () => random.word().toString(16).padStart(8, '0');
  return { nonce: () => word() + word() };
}

/** Calls that a store may apply after their callers have gone: what they say is conditional, or the same when repeated. */
const MAY_BE_LATE = new Set([
  'heads.createHead',
  'heads.writeHead',
  'heads.holdHead',
  'items.create',
  'objects.create',
  'objects.complete',
  'items.delete',
  'objects.delete',
  'quarantine.put',
]);

function overConnection<T extends object>(
  port: string,
  store: T,
  connection: Connection,
  baseMs = 0,
): T {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy(store, {
    get(target, name) {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      const operation = `${port}.${String(name)}`;
      const mayBeLate = MAY_BE_LATE.has(operation);
      const over = (...given: unknown[]) => {
        const sent = given.map(asSent);
        checkSizes(port, sent);
        if (operation === 'heads.writeHead') connection.sends(sent[0] as HeadItem);
        if (operation === 'objects.create' && String(sent[0]).includes('/base/')) {
          connection.work(baseMs);
        }
        const apply = async () => {
          const answer = await (Reflect.apply(method, target, sent) as Promise<unknown>);
          // Its pieces go over the connection too.
          if (name === 'upload') return overConnection(port, answer as object, connection);
          return answer;
        };
        return connection.call({ operation, key: keyOf(sent[0]), mayBeLate, apply });
      };
      methods.set(name, over);
      return over;
    },
  });
}

/** A request carries the bytes as they were when it was made. */
function asSent(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  return isHeadItem(value) ? { ...value, body: new Uint8Array(value.body) } : value;
}

function checkSizes(port: string, [first, second]: readonly unknown[]): void {
  if (isHeadItem(first)) {
    const byteLength = first.body.length + first.delivered.length + first.sliceId.length;
    assert(byteLength <= HEAD_BYTES_MAX, 'head-fits-its-item', () => `${byteLength} bytes`);
  }
  if (port === 'items' && second instanceof Uint8Array) {
    assert(second.length <= ITEM_BYTES_MAX, 'an-item-is-small', () => `${second.length} bytes`);
  }
}

function isHeadItem(value: unknown): value is HeadItem {
  return value !== null && typeof value === 'object' && 'body' in value && 'revision' in value;
}

function keyOf(first: unknown): string {
  if (first === undefined || first === null) return '';
  if (Array.isArray(first)) return `(${first.length})`;
  if (typeof first !== 'object') return String(first);
  if ('sliceId' in first) return String(first.sliceId);
  return '';
}
