/**
 * What the cells of a CSV column are in a record. A cell is text, with the characters that the file has, unless the plan adds
 * the column up or `--types` says otherwise: a number keeps its characters too, and what is none is refused by name.
 */
import { formatFieldPath } from '../../core/definition/field-path.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { UsageError } from '../usage-error.ts';

export type ColumnType = 'text' | 'number' | 'boolean';

/** By the name of the column. */
export type ColumnTypes = ReadonlyMap<string, ColumnType>;

export interface CsvColumn {
  readonly name: string;
  readonly toJson: (cell: string) => CellReading;
}

/** The JSON; or what is wrong, and where something else than another type of column mends it, what to do. */
export type CellReading =
  | { readonly json: string }
  | { readonly problem: string; readonly advice?: string };

export function csvColumns(
  names: readonly string[],
  types: ColumnTypes,
  plan: Plan | null,
  tell: (text: string) => void,
): CsvColumn[] {
  for (const name of types.keys()) {
    if (!names.includes(name)) refuseColumn(name, names);
  }
  const warned = plan === null ? (toJson: ToJson) => toJson : decimalWarning(plan, tell);
  return names.map((name) => {
    const type = types.get(name);
    if (type !== undefined) return { name, toJson: warned(OF_TYPE[type], name) };
    return { name, toJson: plan === null ? textOf : warned(byPlan(plan, name), name) };
  });
}

/** Tells once of the first column with decimals that the plan sums. */
function decimalWarning(plan: Plan, tell: (text: string) => void) {
  let isTold = false;
  return (toJson: ToJson, name: string): ToJson => {
    if (!isSummed(plan, name)) return toJson;
    return (cell) => {
      const reading = toJson(cell);
      if (isTold || !('json' in reading) || !/^-?\d+\.\d*[1-9]/.test(reading.json)) return reading;
      isTold = true;
      tell(
        `column ${formatFieldPath([name])} has decimals, and sums are of binary doubles, which are near decimals such as 0.1 but not the same; amounts of money are best sent as whole cents`,
      );
      return reading;
    };
  };
}

function isSummed(plan: Plan, name: string): boolean {
  const text = formatFieldPath([name]);
  return plan.views.some(({ aggregates }) =>
    aggregates.some(
      ({ kind, field }) =>
        kind === 'sum' && field !== null && formatFieldPath(plan.fields[field] ?? []) === text,
    ),
  );
}

type ToJson = CsvColumn['toJson'];

/** As JSON writes numbers: no zeros before, no plus, no comma. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBER_EXPECTED = 'expected a number as JSON writes it, such as 1.5';

const textOf: ToJson = (cell) => ({ json: JSON.stringify(cell) });

/** Some writers put quotes around every cell, also where there is no number. */
const NO_VALUE = { json: 'null' };

const numberOf: ToJson = (cell) => {
  if (cell === '') return NO_VALUE;
  return NUMBER.test(cell) ? { json: cell } : { problem: NUMBER_EXPECTED, ...commaAdvice(cell) };
};

/** Where the column has numbers with a comma, text is not what is meant. */
function commaAdvice(cell: string): { readonly advice?: string } {
  if (/^[+-]?\d{1,3}(,\d{3})+\.\d+$/.test(cell) || /^[+-]?\d{1,3}(,\d{3}){2,}$/.test(cell)) {
    return { advice: 'commas between thousands: take them out' };
  }
  if (/^[+-]?\d{1,3}(\.\d{3})+,\d+$/.test(cell)) {
    return {
      advice: 'decimal comma: replace it by a point, and take the points between thousands out',
    };
  }
  return /^[+-]?\d+,\d+$/.test(cell) ? { advice: 'decimal comma: replace it by a point' } : {};
}

const booleanOf: ToJson = (cell) => {
  if (cell === '') return NO_VALUE;
  const lower = cell.toLowerCase();
  return lower === 'true' || lower === 'false'
    ? { json: lower }
    : { problem: 'expected true or false' };
};

const OF_TYPE: Readonly<Record<ColumnType, ToJson>> = {
  text: textOf,
  number: numberOf,
  boolean: booleanOf,
};

/** True for text that is a number, and the only way to write it: two such cells are the same number only if they are alike. */
function isPlainNumber(cell: string): boolean {
  return NUMBER.test(cell) && String(Number(cell)) === cell;
}

function byPlan(plan: Plan, name: string): ToJson {
  const text = formatFieldPath([name]);
  const adds = whoAdds(plan, text);
  const identifies = whoIdentifies(plan, text);
  if (adds !== null) {
    return (cell) => {
      if (cell === '') return NO_VALUE;
      const isRight = identifies === null ? NUMBER.test(cell) : isPlainNumber(cell);
      if (isRight) return { json: cell };
      const also = identifies === null ? '' : `, and ${identifies}`;
      const expected =
        identifies === null
          ? NUMBER_EXPECTED
          : 'expected a number that has no other spelling, such as 1.5 or 7';
      return { problem: `${adds}${also}: ${expected}`, ...commaAdvice(cell) };
    };
  }
  const isTime = plan.time !== null && formatFieldPath(plan.time.path) === text;
  if (!isTime) return textOf;
  return (cell) => (isPlainNumber(cell) ? { json: cell } : textOf(cell));
}

function whoAdds(plan: Plan, text: string): string | null {
  for (const view of plan.views) {
    for (const { name, kind, field } of view.aggregates) {
      if (field === null || kind === 'count') continue;
      if (formatFieldPath(plan.fields[field] ?? []) === text) {
        return `the ${kind} '${name}' of view '${view.name}' needs numbers in this column`;
      }
    }
  }
  return null;
}

function whoIdentifies(plan: Plan, text: string): string | null {
  const { dedupe, views } = plan;
  if (dedupe !== null && formatFieldPath(dedupe.path) === text) return 'it is the dedupe id';
  const view = views.find(({ groupBy }) => groupBy.some(({ name }) => name === text));
  return view === undefined ? null : `view '${view.name}' groups by it`;
}

function refuseColumn(name: string, names: readonly string[]): never {
  const spelled = names.map((each) => formatFieldPath([each])).join(', ');
  throw new UsageError(`--types: there is no column '${name}'; the columns are ${spelled}`);
}
