import { describe, expect, it } from 'vitest';
import { matchViews } from '../../../core/definition/view-match.ts';

/** `name:hash:column,column`, a column by its kind of the field `f`. */
function views(texts: readonly string[]) {
  return texts.map((text) => {
    const [name = '', hash = '', columns = ''] = text.split(':');
    const kinds = columns.split(',') as ('count' | 'sum' | 'min' | 'max')[];
    return {
      name,
      hash,
      late: 'update' as const,
      columns: kinds.map((kind) => ({ kind, fieldText: 'f' })),
    };
  });
}

describe('a view goes on with', () => {
  it.each<[string, readonly string[], readonly string[], readonly number[]]>([
    ['the one of its name', ['a:1:sum', 'b:1:sum'], ['b:1:sum', 'a:1:sum'], [1, 0]],
    ['the one of its name, with one aggregate in common', ['a:1:sum,min'], ['a:1:sum,max'], [0]],
    [
      'the one of its name, though another has more in common',
      ['a:1:sum', 'b:1:sum,min,max'],
      ['a:1:sum,min,max'],
      [0],
    ],
    ['none of its name that means another thing', ['a:1:sum'], ['a:2:sum'], [-1]],
    ['none of its name without an aggregate in common', ['a:1:sum'], ['a:1:min'], [-1]],
    ['one of another name', ['a:1:sum'], ['z:1:sum'], [0]],
    [
      'that of other names that has most in common',
      ['a:1:sum', 'b:1:sum,min', 'c:2:sum,min,max'],
      ['z:1:sum,min,max'],
      [1],
    ],
    ['none where several suit it equally well', ['a:1:sum', 'b:1:sum'], ['z:1:sum'], [-1]],
    ['none that another of its name takes', ['a:1:sum'], ['b:1:sum', 'a:1:sum'], [-1, 0]],
    ['none that is taken already', ['a:1:sum'], ['y:1:sum', 'z:1:sum'], [0, -1]],
    [
      'one under exchanged names where these mean other things',
      ['a:1:sum', 'b:2:sum'],
      ['a:2:sum', 'b:1:sum'],
      [1, 0],
    ],
    ['none of none', [], ['a:1:sum'], [-1]],
  ])('%s', (_, before, after, expected) => {
    expect(matchViews(views(before), views(after)).from).toEqual(expected);
  });

  it('tells a kind of one field from that of another', () => {
    const [before, after] = ['f', 'g'].map((fieldText) => {
      return [
        {
          name: 'a',
          hash: '1',
          late: 'update' as const,
          columns: [{ kind: 'sum' as const, fieldText }],
        },
      ];
    });
    expect(matchViews(before!, after!).from).toEqual([-1]);
  });
});
