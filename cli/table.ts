/**
 * Plain text tables for a terminal: numbers to the right, everything else to the left.
 */
export type Cell = string | number | null;

export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  const texts = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...texts.map((row) => row[index]?.length ?? 0)),
  );
  const isNumeric = columns.map((_, index) =>
    rows.every((row) => typeof row[index] === 'number' || row[index] === null),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        return isNumeric[index] && rows.length > 0 ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('──');
  return [line(columns), rule, ...texts.map(line)].join('\n');
}

/** Values are data: control characters in them must not reach the terminal. */
function printable(cell: Cell): string {
  if (cell === null) return '–';
  if (typeof cell === 'number') return formatNumber(cell);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return cell.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/g, '·');
}

function formatNumber(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en-US');
  return Number(value.toPrecision(6)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}
