import { describe, expect, it } from 'vitest';
import { formatTable } from '../../../cli/table.ts';

describe('a table', () => {
  it('puts numbers to the right, with thousands apart, and everything else to the left', () => {
    const rows = [
      ['LAX', 1_234_567],
      ['ORD', 7],
    ];

    expect(formatTable(['from', 'flights'], rows)).toBe(
      ['from    flights', '───────────────', 'LAX   1,234,567', 'ORD           7'].join('\n'),
    );
  });

  it('rounds fractions to six digits and shows what is absent as a dash', () => {
    expect(
      formatTable(['mean'], [[1 / 3], [null]])
        .split('\n')
        .slice(2),
    ).toEqual(['0.333333', '       –']);
  });

  it('has its heading and nothing else without rows', () => {
    expect(formatTable(['a', 'bc'], [])).toBe('a  bc\n─────');
  });

  it('lets no control character of the data reach the terminal', () => {
    const evil = 'a\u001b[2Jb\nc\u009bd\u202ee\u2028f';

    expect(
      formatTable(['key'], [[evil]])
        .split('\n')
        .at(-1),
    ).toBe('a·[2Jb·c·d·e·f');
  });
});
