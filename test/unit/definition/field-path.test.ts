import { describe, expect, it } from 'vitest';
import { formatFieldPath, parseFieldPath } from '../../../core/definition/field-path.ts';
import { FIELD_PATH_DEPTH_MAX, FIELD_PATH_LENGTH_MAX } from '../../../core/limits.ts';

describe('field paths', () => {
  it.each([
    ['delay', ['delay']],
    ['a.b', ['a', 'b']],
    ['a.b\\.c', ['a', 'b.c']],
    ['a\\\\b', ['a\\b']],
    ['a\\\\.b', ['a\\', 'b']],
    ['\\*', ['*']],
    ['a.*', ['a', '*']],
    ['__proto__.constructor', ['__proto__', 'constructor']],
    ['naïve field', ['naïve field']],
  ])('reads %j as %j and writes it back', (text, path) => {
    expect(parseFieldPath(text)).toEqual(path);
    expect(formatFieldPath(path)).toBe(text);
  });

  it.each(['', '.', 'a.', '.a', 'a..b', '*', 'a\\', 'a\\b', '\\'])('refuses %j', (text) => {
    expect(parseFieldPath(text)).toBeNull();
  });

  it('writes one text for every spelling of a path', () => {
    expect(formatFieldPath(parseFieldPath('a.\\*') ?? [])).toBe('a.*');
  });

  it('is bounded in length and depth', () => {
    expect(parseFieldPath('a'.repeat(FIELD_PATH_LENGTH_MAX))).not.toBeNull();
    expect(parseFieldPath('a'.repeat(FIELD_PATH_LENGTH_MAX + 1))).toBeNull();
    const deepest = Array.from({ length: FIELD_PATH_DEPTH_MAX }, () => 'a');
    expect(parseFieldPath(deepest.join('.'))).toEqual(deepest);
    expect(parseFieldPath([...deepest, 'a'].join('.'))).toBeNull();
  });
});
