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
  /** The JSON of a cell that is not empty, or why it has none. */
  readonly toJson: (cell: string) => { readonly json: string } | { readonly problem: string };
}

export function csvColumns(
  names: readonly string[],
  types: ColumnTypes,
  plan: Plan | null,
): CsvColumn[] {
  for (const name of types.keys()) {
    if (!names.includes(name)) refuseColumn(name, names);
  }
  return names.map((name) => {
    const type = types.get(name);
    if (type !== undefined) return { name, toJson: OF_TYPE[type] };
    return { name, toJson: plan === null ? textOf : byPlan(plan, name) };
  });
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
  return NUMBER.test(cell) ? { json: cell } : { problem: NUMBER_EXPECTED };
};

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
      return { problem: `${adds}${also}: ${expected}` };
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
