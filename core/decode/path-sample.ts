/**
 * Which paths of a plan find nothing in the first records of a stream, and where these have the field instead. A wrong path is
 * no error: all records would group under null in silence.
 */
import { type FieldPath, formatFieldPath } from '../definition/field-path.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { type Envelope, envelopeOf, listAdvice } from './envelope.ts';
import { parseJsonObject, valueAt } from './field-lookup.ts';
import { type OtherSpelling, otherSpelling, type SpellingKind } from './other-spelling.ts';

/** Records that a sample looks at. */
export const SAMPLE_RECORDS = 200;

export interface PathHint {
  /** The path as the pipeline file has it. */
  readonly path: string;
  /** The path at which the records have the field; null if they have none like it. */
  readonly found: string | null;
  /** Records that the path was looked for in. */
  readonly records: number;
  /** All of it for a person. */
  readonly text: string;
}

interface SampledPath {
  readonly path: FieldPath;
  /** Of records that are not of these categories it is not asked; null asks of all. */
  readonly categories: ReadonlySet<string> | null;
  readonly use: string;
  records: number;
  isFound: boolean;
  other: OtherSpelling | null;
  envelope: Envelope | null;
  /** What to do about a list that may hold the records that were meant. */
  list: string | null;
}

export class PathSample {
  readonly #category: FieldPath | null;
  readonly #paths: SampledPath[];
  #count = 0;

  constructor(plan: Plan) {
    this.#category = plan.category;
    this.#paths = sampledPaths(plan);
  }

  /** True when it has seen all that it looks at. */
  get isFull(): boolean {
    return this.#count >= SAMPLE_RECORDS;
  }

  /** Looks at a record, unless it is full. Data that is no JSON object says nothing of paths. */
  add(data: Uint8Array): void {
    if (this.isFull) return;
    const record = parseJsonObject(data);
    if (record === null) return;
    this.#count++;
    const category = this.#category === null ? null : valueAt(record, this.#category);
    for (const sampled of this.#paths) {
      if (sampled.isFound) continue;
      const { categories, path } = sampled;
      if (categories !== null && !(typeof category === 'string' && categories.has(category))) {
        continue;
      }
      sampled.records++;
      sampled.isFound = valueAt(record, path) !== undefined;
      if (sampled.isFound) continue;
      sampled.other ??= otherSpelling(record, path);
      sampled.envelope ??= envelopeOf(record);
      sampled.list ??= listAdvice(record);
    }
  }

  /** Of the paths that found nothing; `withoutOther` also of those that records have nothing like, and that may not be in a list. */
  hints({ withoutOther }: { readonly withoutOther: boolean }): PathHint[] {
    const missing = this.#paths.filter(({ records, isFound }) => records > 0 && !isFound);
    // One list is why all are missing: what to do about it is said once.
    const first = missing.find(({ other, list }) => other === null && list !== null);
    return missing
      .filter((each) => withoutOther || each.other !== null || each === first)
      .map((each) => hintOf(each === first ? each : { ...each, list: null }));
  }
}

function hintOf({ path, use, records, other, envelope, list }: SampledPath): PathHint {
  const text = formatFieldPath(path);
  const found = other === null ? null : formatFieldPath(other.path);
  const where =
    records === 1 ? 'is not in the first record' : `is not in any of the first ${records} records`;
  const instead =
    other === null || found === null
      ? list === null
        ? ''
        : `; ${list}`
      : `; they have ${found}: ${EXPLAINED[other.kind](found)}`;
  const around = envelope === null || other?.kind !== 'deeper' ? '' : ` (each is ${envelope.name})`;
  return { path: text, found, records, text: `field ${text}, ${use}, ${where}${instead}${around}` };
}

const EXPLAINED: Readonly<Record<SpellingKind, (found: string) => string>> = {
  'dot-in-name': (found) =>
    `a dot reaches into a nested field, and a dot that belongs to a name is written \\. (in the pipeline file '${found.replaceAll('\\', '\\\\')}')`,
  nested: (found) => `\\. is a dot that belongs to a name; write '${found}' for a nested field`,
  deeper: (found) => `write '${found}'`,
  case: (found) => `names are told apart by case; write '${found}'`,
};

function sampledPaths(plan: Plan): SampledPath[] {
  const paths: SampledPath[] = [];
  const add = (path: FieldPath, use: string, categories: ReadonlySet<string> | null) => {
    paths.push({
      path,
      use,
      categories,
      records: 0,
      isFound: false,
      other: null,
      envelope: null,
      list: null,
    });
  };
  if (plan.time !== null) add(plan.time.path, 'the time', null);
  if (plan.category !== null) add(plan.category, 'the category', null);
  if (plan.dedupe !== null) add(plan.dedupe.path, 'the dedupe id', null);
  for (const [index, path] of plan.fields.entries()) {
    const views = plan.views.filter((view) => uses(view, index));
    const [first] = views;
    if (first === undefined) continue;
    const grouped = views.find(({ groupBy }) => groupBy.some(({ field }) => field === index));
    const use =
      grouped === undefined
        ? `which view '${first.name}' aggregates`
        : `by which view '${grouped.name}' groups`;
    const categories = views.map(({ category }) => category);
    add(path, use, categories.includes(null) ? null : new Set(categories as string[]));
  }
  return paths;
}

function uses({ groupBy, aggregates }: ViewPlan, index: number): boolean {
  return (
    groupBy.some(({ field }) => field === index) || aggregates.some(({ field }) => field === index)
  );
}
