import { expect, it } from 'vitest';
import { type PutReport, putReportLines, queryPlaceText } from '../../../cli/put-report.ts';

const HERE = 'http://127.0.0.1:4580';
const report: PutReport = {
  put: 1_200,
  stream: 'flights',
  keyField: 'tail',
  withoutKey: 0,
  after: ['shardId-000000000000:123'],
  view: 'by_tail',
  refused: [],
  place: '',
};

it('the closing lines name a command that runs when copied, and no quarantine where nothing goes there', () => {
  expect(putReportLines(report)).toEqual([
    'put 1,200 records into flights',
    'wait for them with: npx tidemark query by_tail --after shardId-000000000000:123',
  ]);
});

it('the closing lines say how many records go to the quarantine, and why', () => {
  const refused = [
    { reason: 'no-time', records: 3, unit: 'line', number: 7, detail: 'no field "at"' },
  ] as const;
  const place = ' --query-url http://127.0.0.1:9000';
  expect(putReportLines({ ...report, refused, place }).slice(1)).toEqual([
    'wait for them with: npx tidemark query by_tail --after shardId-000000000000:123 --query-url http://127.0.0.1:9000',
    '3 of them cannot be counted, and go to the quarantine: npx tidemark quarantine --query-url http://127.0.0.1:9000',
    '  no-time: 3, the first on line 7: no field "at"',
  ]);
});

it.each([
  [HERE, undefined, ''],
  ['http://127.0.0.1:9000', undefined, ' --query-url http://127.0.0.1:9000'],
  ['http://127.0.0.1:9000', 'http://127.0.0.1:9000', ''],
  ['http://127.0.0.1:9000/?a=b&c', undefined, " --query-url 'http://127.0.0.1:9000/?a=b&c'"],
  [HERE, 'http://127.0.0.1:9000', ` --query-url ${HERE}`],
  [null, undefined, ' --query-url URL'],
  [null, 'https://abc.lambda-url.eu-west-1.on.aws', ''],
])(
  'records put at %s, with TIDEMARK_QUERY_URL %s, are asked for with "%s"',
  (endpoint, set, said) => {
    expect(queryPlaceText(endpoint, set)).toBe(said);
  },
);
