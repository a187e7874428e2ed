/**
 * The guarantees of `BlobStore`, for every implementation.
 */
import { expect } from 'vitest';
import type { BlobStore } from '../../core/ports.ts';
import { bytesOf, type Contract, describeContract, patternOf, type World } from './contract.ts';

const MIB = 1024 * 1024;
const NOTHING_AFTER = null;

async function keysOf(
  store: BlobStore,
  prefix: string,
  after: string | null = NOTHING_AFTER,
  limit = 1000,
): Promise<string[]> {
  return (await store.list(prefix, after, limit)).map(({ key }) => key);
}

export function blobStoreContract(contract: Contract<World<BlobStore>>): void {
  describeContract('BlobStore', contract, (test) => {
    test('a key without a blob reads as null', async (world) => {
      const store = await world.connect();
      expect(await store.read('slice/delta/1')).toBeNull();
      expect(await store.readRange('slice/delta/1', 0, 10)).toBeNull();
      expect(await keysOf(store, '')).toEqual([]);
    });

    test('a blob is read as it was created', async (world) => {
      const store = await world.connect();
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      expect(await store.create('slice/delta/1', bytes)).toBe('created');
      expect(await store.read('slice/delta/1')).toEqual(bytes);
    });

    test('reads give plain Uint8Arrays that own their buffer', async (world) => {
      const store = await world.connect();
      await store.create('a', bytesOf('content'));
      const read = (await store.read('a')) as Uint8Array;
      expect(read.constructor).toBe(Uint8Array);
      expect(read.buffer.byteLength).toBe(read.byteLength);
    });

    test('a blob may be empty', async (world) => {
      const store = await world.connect();
      expect(await store.create('a', new Uint8Array(0))).toBe('created');
      expect(await store.read('a')).toEqual(new Uint8Array(0));
      expect(await store.readRange('a', 0, 5)).toEqual(new Uint8Array(0));
      expect(await store.create('a', bytesOf('late'))).toBe('exists');
    });

    test('a second creation says exists and replaces nothing', async (world) => {
      const store = await world.connect();
      await store.create('a', bytesOf('first'));
      expect(await store.create('a', bytesOf('second'))).toBe('exists');
      expect(await store.create('a', bytesOf('first'))).toBe('exists');
      expect(await store.read('a')).toEqual(bytesOf('first'));
    });

    test('of many creations under one key at once exactly one creates', async (world) => {
      const stores = [await world.connect(), await world.connect()];
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          (stores[index % 2] as BlobStore).create('slice/delta/1', bytesOf(`writer ${index}`)),
        ),
      );
      expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'exists')).toHaveLength(39);
      const winner = answers.indexOf('created');
      for (const store of stores) {
        expect(await store.read('slice/delta/1')).toEqual(bytesOf(`writer ${winner}`));
      }
      expect(await keysOf(stores[0] as BlobStore, '')).toEqual(['slice/delta/1']);
    });

    test('many creations under their own keys at once all create', async (world) => {
      const store = await world.connect();
      const keys = Array.from({ length: 100 }, (_, index) => `slice-${index % 7}/delta/${index}`);
      const answers = await Promise.all(keys.map((key) => store.create(key, bytesOf(key))));
      expect(new Set(answers)).toEqual(new Set(['created']));
      for (const key of keys) expect(await store.read(key)).toEqual(bytesOf(key));
    });

    test('a connection sees what another has created or deleted', async (world) => {
      const [one, other] = [await world.connect(), await world.connect()];
      await one.create('a', bytesOf('one'));
      expect(await other.read('a')).toEqual(bytesOf('one'));
      expect(await other.create('a', bytesOf('other'))).toBe('exists');
      await other.delete(['a']);
      expect(await one.read('a')).toBeNull();
      expect(await one.create('a', bytesOf('again'))).toBe('created');
    });

    test('a range is cut where the blob ends', async (world) => {
      const store = await world.connect();
      await store.create('a', bytesOf('0123456789'));
      expect(await store.readRange('a', 0, 10)).toEqual(bytesOf('0123456789'));
      expect(await store.readRange('a', 3, 6)).toEqual(bytesOf('345'));
      expect(await store.readRange('a', 9, 10)).toEqual(bytesOf('9'));
      expect(await store.readRange('a', 8, 100)).toEqual(bytesOf('89'));
      expect(await store.readRange('a', 4, 4)).toEqual(new Uint8Array(0));
      expect(await store.readRange('a', 10, 12)).toEqual(new Uint8Array(0));
      expect(await store.readRange('a', 50, 60)).toEqual(new Uint8Array(0));
      expect(await store.readRange('a', 0, Number.MAX_SAFE_INTEGER)).toEqual(bytesOf('0123456789'));
    });

    test('a blob of 8 MiB is read whole and in parts', async (world) => {
      const store = await world.connect();
      const bytes = patternOf(8 * MIB, 1);
      expect(await store.create('slice/base/1', bytes)).toBe('created');
      const read = (await store.read('slice/base/1')) as Uint8Array;
      expect(Buffer.compare(read, bytes)).toBe(0);
      const part = (await store.readRange(
        'slice/base/1',
        5 * MIB - 3,
        5 * MIB + 70_000,
      )) as Uint8Array;
      expect(Buffer.compare(part, bytes.subarray(5 * MIB - 3, 5 * MIB + 70_000))).toBe(0);
      const [listed] = await store.list('slice/', null, 1);
      expect(listed?.byteLength).toBe(8 * MIB);
    });

    test('changing bytes that were passed in or given out changes nothing stored', async (world) => {
      const store = await world.connect();
      const mine = bytesOf('content');
      await store.create('a', mine);
      mine.fill(0);
      (await store.read('a'))?.fill(0);
      (await store.readRange('a', 0, 3))?.fill(0);
      expect(await store.read('a')).toEqual(bytesOf('content'));
    });

    test('bytes that are a part of a larger buffer are stored alone', async (world) => {
      const store = await world.connect();
      await store.create('a', bytesOf('before|body|after').subarray(7, 11));
      expect(await store.read('a')).toEqual(bytesOf('body'));
    });

    test('a listing says key, length and time of creation', async (world) => {
      const store = await world.connect();
      await store.create('slice/delta/1', bytesOf('12345'));
      const [object, ...others] = await store.list('slice/', null, 10);
      expect(others).toEqual([]);
      expect(object).toEqual({
        key: 'slice/delta/1',
        byteLength: 5,
        createdMs: expect.any(Number),
      });
      expect(Number.isInteger(object?.createdMs)).toBe(true);
      expect(Math.abs((object?.createdMs ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    test('a listing is ordered by the characters of the keys, of which some begin with others', async (world) => {
      const store = await world.connect();
      const ordered = [
        ...['A', 'a', 'a-1', 'a-1/b', 'a-b/c', 'a.b', 'a.b/c', 'a/0', 'a/b', 'a/b-c'],
        ...['a/b.c', 'a/b/c', 'a/b0', 'a/b1', 'a/b10', 'a/b2', 'a0', 'a_', 'aa', 'b/a'],
      ];
      expect([...ordered].sort()).toEqual(ordered);
      for (const key of [...ordered].reverse()) await store.create(key, bytesOf(key));
      expect(await keysOf(store, '')).toEqual(ordered);
      for (const key of ordered) expect(await store.read(key)).toEqual(bytesOf(key));
      for (const prefix of [
        '',
        'a',
        'a/',
        'a/b',
        'a/b/',
        'a-',
        'a.',
        'a/b1',
        'b',
        'c',
        'a/b/c/d',
        '/',
        'A',
      ]) {
        expect(await keysOf(store, prefix), `prefix ${prefix}`).toEqual(
          ordered.filter((key) => key.startsWith(prefix)),
        );
      }
    });

    test('a listing goes on after any key, there or not', async (world) => {
      const store = await world.connect();
      const ordered = ['a', 'a-1', 'a/b', 'a/b-c', 'a/b/c', 'a/b/d', 'a/b0', 'a0', 'b/a'];
      for (const key of ordered) await store.create(key, bytesOf(key));
      const marks = [...ordered, '', 'Z', 'a!', 'a/', 'a/b/', 'a/b/cc', 'a/b/c/x', 'b', 'c', 'a/a'];
      for (const prefix of ['', 'a/', 'a/b', 'b']) {
        for (const after of marks) {
          expect(await keysOf(store, prefix, after), `${prefix} after ${after}`).toEqual(
            ordered.filter((key) => key.startsWith(prefix) && key > after),
          );
        }
      }
    });

    test('pages tile the listing', async (world) => {
      const store = await world.connect();
      const keys = Array.from({ length: 123 }, (_, index) => {
        const folder = ['delta', 'base', 'run'][index % 3];
        return `slice-${index % 2}/${folder}/${String(index).padStart(6, '0')}`;
      });
      await Promise.all(keys.map((key) => store.create(key, bytesOf(key))));
      const wanted = keys.filter((key) => key.startsWith('slice-1/')).sort();
      const paged: string[] = [];
      for (let after: string | null = null; ; ) {
        const page = await keysOf(store, 'slice-1/', after, 10);
        paged.push(...page);
        if (page.length < 10) break;
        after = page.at(-1) as string;
      }
      expect(paged).toEqual(wanted);
    });

    test('deletions take what is there and do not mind the rest', async (world) => {
      const store = await world.connect();
      for (const key of ['a', 'a/b', 'c']) await store.create(key, bytesOf(key));
      await store.delete(['a', 'missing', 'a']);
      await store.delete([]);
      expect(await store.read('a')).toBeNull();
      expect(await keysOf(store, '')).toEqual(['a/b', 'c']);
      expect(await store.create('a', bytesOf('again'))).toBe('created');
      expect(await store.read('a')).toEqual(bytesOf('again'));
    });

    test('keys that could leave the store are refused', async (world) => {
      const store = await world.connect();
      const bad = [
        '',
        '/',
        '/etc/x',
        '../x',
        'a/../../x',
        'a/./b',
        'a//b',
        'a/',
        '.hidden',
        'a\\b',
      ];
      const worse = ['a\0b', 'a b', 'ä', '-a', 'x'.repeat(201), 'a/b/c/d/e/f/g/h/i'];
      for (const key of [...bad, ...worse]) {
        await expect(store.create(key, bytesOf('x')), JSON.stringify(key)).rejects.toMatchObject({
          name: 'InvariantFault',
          invariant: 'blob-key-is-portable',
        });
      }
      expect(await keysOf(store, '')).toEqual([]);
    });

    test('the longest key is as good as any', async (world) => {
      const store = await world.connect();
      const key = Array.from({ length: 8 }, () => 'x'.repeat(200)).join('/');
      expect(await store.create(key, bytesOf('x'))).toBe('created');
      expect(await store.read(key)).toEqual(bytesOf('x'));
      expect(await keysOf(store, 'x')).toEqual([key]);
    });

    test('what was created is there after a restart', async (world) => {
      const before = await world.connect();
      await before.create('slice/base/1', patternOf(100_000, 2));
      await before.create('slice/base/2', bytesOf('2'));
      await before.delete(['slice/base/2']);
      await world.disconnect();
      const after = await world.connect();
      expect(await after.read('slice/base/1')).toEqual(patternOf(100_000, 2));
      expect(await keysOf(after, '')).toEqual(['slice/base/1']);
    });
  });
}
