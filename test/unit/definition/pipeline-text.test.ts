import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import { parsePipelineText } from '../../../core/definition/pipeline-text.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';

const VIEW = '{"groupBy": ["page"], "aggregates": {"n": {"count": "*"}}}';

function problemsOf(text: string): readonly string[] {
  const parsed = parsePipelineText(text);
  return parsed.ok ? [] : parsed.problems.map(({ path, found }) => `${path}: ${found}`);
}

describe('the text of a JSON pipeline file', () => {
  it('is refused where two views have one name, with the name and both lines', () => {
    const text = `{"name": "visits",\n "views": {\n  "by_page": ${VIEW},\n  "by_page": ${VIEW}\n }}`;
    expect(problemsOf(text)).toEqual(['views.by_page: "by_page" in line 4, and in line 3 already']);
  });

  it('is refused for a name that occurs twice in any other object', () => {
    const cases: readonly [text: string, path: string][] = [
      [`{"name": "a", "name": "b", "views": {"v": ${VIEW}}}`, 'name'],
      [`{"name": "a", "views": {"v": ${VIEW}}, "views": {"w": ${VIEW}}}`, 'views'],
      [
        `{"name": "a", "time": {"lateness": "1m", "lateness": "2m"}, "views": {"v": ${VIEW}}}`,
        'time.lateness',
      ],
      [
        '{"name": "a", "views": {"v": {"aggregates": {"n": {"count": "*"}, "n": {"sum": "x"}}}}}',
        'views.v.aggregates.n',
      ],
      [
        '{"name": "a", "views": {"v": {"aggregates": {"n": {"sum": "y", "sum": "x"}}}}}',
        'views.v.aggregates.n.sum',
      ],
      // One name in another spelling, and one behind what only looks like JSON.
      [`{"name": "a", "views": {"v": ${VIEW}, "\\u0076": ${VIEW}}}`, 'views.v'],
      [
        '{"name": "a", "views": {"v": {"aggregates": {"n\\"{,:[": {"count": "*"}, "n\\"{,:[": {"count": "*"}}}}}',
        'views.v.aggregates["n\\"{,:["]',
      ],
    ];
    for (const [text, path] of cases) {
      expect(problemsOf(text).map((line) => line.split(': "')[0])).toContain(path);
    }
  });

  it('may have one name in different objects, and texts like names', () => {
    const text = `{"name": "views", "views": {"name": {"groupBy": ["name", "views"], "aggregates": {"name": {"sum": "name"}, "views": {"sum": "name"}}}, "views": ${VIEW}}}`;
    expect(parsePipelineText(text)).toEqual(parsePlan(JSON.parse(text)));
    expect(parsePipelineText(`\uFEFF${text}`).ok).toBe(true);
  });

  it('tells the other problems of the file beside', () => {
    const text = `{"name": "", "views": {"v": ${VIEW}, "v": ${VIEW}}}`;
    expect(problemsOf(text).map((line) => line.split(':')[0])).toEqual(['views.v', 'name']);
  });

  it('is what `check --json` prints too', () => {
    const parsed = parsePipelineText(`{"name": "a", "views": {"v": ${VIEW}}}`);
    if (!parsed.ok) throw new Error('it is sound');
    const { plan } = parsed;
    const printed = { hash: plan.hash, ...planToJson(plan), records: {}, change: {} };
    expect(parsePipelineText(JSON.stringify(printed, null, 2))).toEqual(parsed);
  });

  it('throws where it is not JSON', () => {
    expect(() => parsePipelineText('{"name": ')).toThrow(SyntaxError);
  });
});
