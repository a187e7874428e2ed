/**
 * From the text of a JSON pipeline file to its plan. `JSON.parse` keeps the last of two properties of one name and is silent
 * about the first, so a name that occurs twice in an object is a problem here, wherever in the file the object is.
 */
import { type ParsedPlan, parsePlan } from './parse-plan.ts';
import { elementPath, type Problem, ProblemList, propertyPath } from './problem.ts';

/** As `parsePlan`. Throws the SyntaxError of `JSON.parse` if the text is not JSON. */
export function parsePipelineText(text: string): ParsedPlan {
  const json = text.replace(/^\uFEFF/, '');
  const parsed = parsePlan(withoutReport(JSON.parse(json)));
  const repeated = repeatedNames(json);
  if (repeated.length === 0) return parsed;
  return { ok: false, problems: parsed.ok ? repeated : [...repeated, ...parsed.problems] };
}

/** Of what `check --json` prints, the pipeline: its plan's hash, and what was tried and compared, are no part of it. */
function withoutReport(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const { hash, records: _records, change: _change, ...pipeline } = json as Record<string, unknown>;
  return typeof hash === 'string' ? pipeline : json;
}

interface OpenObject {
  /** The line of each name's first occurrence. */
  readonly names: Map<string, number>;
  name: string;
}

interface OpenArray {
  index: number;
}

/** A string, a bracket, a comma, a colon or the end of a line: all else of valid JSON is of no matter here. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:\n]/g;

/** `json` has been parsed: it is valid. */
function repeatedNames(json: string): readonly Problem[] {
  const problems = new ProblemList();
  const open: (OpenObject | OpenArray)[] = [];
  let line = 1;
  let text = '';
  for (const [token] of json.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === '\n') line++;
    else if (token === '{') open.push({ names: new Map(), name: '' });
    else if (token === '[') open.push({ index: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',') {
      if (inner !== undefined && 'index' in inner) inner.index++;
    } else if (token !== ':') text = token;
    else if (inner !== undefined && 'names' in inner) {
      const name = JSON.parse(text) as string;
      const firstLine = inner.names.get(name);
      inner.name = name;
      if (firstLine === undefined) inner.names.set(name, line);
      else {
        const found = `"${name}" in line ${line}, and in line ${firstLine} already`;
        problems.addFound(pathOf(open), found, 'each name once in an object', ONLY_LAST);
      }
    }
  }
  return problems.all;
}

const ONLY_LAST = 'JSON keeps only the last one: rename or remove one of them';

function pathOf(open: readonly (OpenObject | OpenArray)[]): string {
  return open.reduce((path, inner) => {
    return 'index' in inner ? elementPath(path, inner.index) : propertyPath(path, inner.name);
  }, '');
}
