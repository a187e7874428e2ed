/**
 * Plain text tables for a terminal: numbers to the right, everything else to the left. Numbers have all the digits that JSON
 * has, with thousands apart. Nothing is cut in silence: a text that is too long for the terminal ends in `…`, and a line
 * below names its column.
 */
import { eastAsianWidth } from 'get-east-asian-width';
import { printable } from './printable.ts';

/**
 * A number that is not exact is marked with ≈, one that lacks earlier records with *. Keys come as text (`keyText`): they are
 * no amounts.
 */
export type Cell =
  | string
  | number
  | null
  | { readonly approximately: number }
  | { readonly partial: number };

export interface TableOptions {
  /** Columns of the terminal; absent where the table does not go to one. */
  readonly width?: number | undefined;
  /** How to see what is cut. */
  readonly whole?: string;
}

/** A table on standard output: cut to its width, where it is a terminal. */
export const TERMINAL: TableOptions = {
  get width() {
    return process.stdout.columns;
  },
};

const GAP = '  ';
/** No column of text becomes narrower. */
const TEXT_WIDTH_MIN = 12;

export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  { width, whole = '--json has them whole' }: TableOptions = {},
): string {
  const headings = columns.map(printable);
  const texts = rows.map((row) => row.map(cellText));
  const isText = columns.map((_, index) =>
    rows.some((row) => typeof row[index] === 'string' || row[index] === undefined),
  );
  const needed = columns.map((_, index) =>
    Math.max(...[headings, ...texts].map((row) => displayWidth(row[index] ?? ''))),
  );
  const widths = width === undefined ? needed : fitted(needed, isText, width);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => {
        const shown = cutToWidth(cell, widths[index] as number);
        const space = ' '.repeat(Math.max(0, (widths[index] as number) - displayWidth(shown)));
        return isText[index] || rows.length === 0 ? shown + space : space + shown;
      })
      .join(GAP)
      .trimEnd();
  const rule = widths.map((each) => '─'.repeat(each)).join('─'.repeat(GAP.length));
  const narrow = headings.filter(
    (_, index) => (widths[index] as number) < (needed[index] as number),
  );
  const note =
    narrow.length === 0 ? [] : [`cut to the width of the terminal: ${narrow.join(', ')}; ${whole}`];
  return [line(headings), rule, ...texts.map(line), ...note].join('\n');
}

/** What JSON says, with thousands apart. */
export function numberText(value: number): string {
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(String(value)) as unknown as string[];
  // An exponent counts digits: those of 1.5e+21 are no thousands.
  return `${sign}${(whole as string).replace(/\B(?=(?:\d{3})+$)/g, ',')}${rest}`;
}

/** An ISO 8601 time of an answer without milliseconds, if it has none; still one that `--start` takes. */
export function shortTime(iso: string): string {
  return iso.replace(/(?<=:\d\d)\.000/, '');
}

function cellText(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return '–';
  if (typeof cell === 'number') return numberText(cell);
  if (typeof cell === 'string') return printable(cell);
  if ('partial' in cell) return `${numberText(cell.partial)}*`;
  return `≈ ${numberText(cell.approximately)}`;
}

/** Widths that fit the terminal, as far as texts can give way: the widest first, and numbers never. */
function fitted(needed: readonly number[], isText: readonly boolean[], width: number): number[] {
  const widths = [...needed];
  let excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width;
  while (excess > 0) {
    const candidates = widths.flatMap((each, index) =>
      isText[index] && each > TEXT_WIDTH_MIN ? [{ each, index }] : [],
    );
    const [widest, second] = candidates.sort((a, b) => b.each - a.each);
    if (widest === undefined) break;
    const least = Math.max(TEXT_WIDTH_MIN, Math.min(second?.each ?? 0, widest.each - 1));
    const narrower = Math.max(least, widest.each - excess);
    excess -= widest.each - narrower;
    widths[widest.index] = narrower;
  }
  return widths;
}

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns that a text takes in a terminal: what East Asian texts and emoji are made of takes two. */
function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += characterWidth(segment);
  return width;
}

function characterWidth(character: string): number {
  if (/^\p{Mark}+$/u.test(character)) return 0;
  if (/^\p{RGI_Emoji}$/v.test(character)) return 2;
  return eastAsianWidth(character.codePointAt(0) as number);
}

/** Ends in `…` if it was longer. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let shown = '';
  let left = width - 1;
  for (const { segment } of characters.segment(text)) {
    left -= characterWidth(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}
