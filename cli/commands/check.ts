import { Command } from 'commander';
import { windowSpan } from '../../core/definition/kinds/window-kinds.ts';
import type { TimeJson } from '../../core/definition/pipeline-json.ts';
import type { Plan, ViewPlan } from '../../core/definition/plan.ts';
import { planToJson } from '../../core/definition/plan-json.ts';
import { dataOption, jsonOption, pipelineOption } from '../option-values.ts';
import { loadPipelineFile } from '../pipeline-file.ts';
import { compareWithActive, describeComparison } from '../plan-comparison.ts';
import { printableJson, printableLines } from '../printable.ts';
import {
  addRecordOptions,
  RECORD_FILE_DESCRIPTION,
  type RecordOptions,
  readingOf,
} from '../record-options.ts';
import type { RecordTrial } from '../record-trial.ts';
import { refusalLine } from '../refused-records.ts';
import { describeWindow, windowNotes } from '../window-text.ts';

interface CheckOptions extends RecordOptions {
  readonly pipeline: string;
  readonly data: string;
  readonly records?: string;
  readonly json?: boolean;
}

export function checkCommand(): Command {
  const command = new Command('check')
    .description(
      'read a pipeline file and say what it means, or what is wrong with it; and what it would cost a data folder that runs by another plan',
    )
    .addOption(pipelineOption())
    .addOption(dataOption())
    .option('--records <file>', `try it on the first records of ${RECORD_FILE_DESCRIPTION}`);
  return addRecordOptions(command).addOption(jsonOption()).action(check);
}

async function check(options: CheckOptions): Promise<void> {
  const plan = await loadPipelineFile(options.pipeline);
  const nowMs = Date.now();
  const change = compareWithActive(plan, options.data, nowMs);
  const trial =
    options.records === undefined ? null : await tryRecords(plan, options.records, options);
  if (options.json) {
    const more = {
      ...(trial === null ? {} : { records: trial }),
      ...(change === null ? {} : { change }),
    };
    console.log(printableJson({ hash: plan.hash, ...planToJson(plan), ...more }, 2));
  } else {
    console.log(describePlan(plan, options.pipeline, nowMs));
    for (const line of describeComparison(change, options.data)) console.log(line);
    if (trial !== null) console.log(printableLines(describeTrial(trial)));
  }
  if (trial !== null && !trial.isSound) process.exitCode = 1;
}

async function tryRecords(plan: Plan, path: string, options: RecordOptions): Promise<RecordTrial> {
  const { recordTrial } = await import('../record-trial.ts');
  return recordTrial(
    plan,
    path,
    readingOf(options, plan, (text) => console.error(text)),
    Date.now(),
  );
}

export function describeTrial({ records, file, refused, hints }: RecordTrial): string {
  if (records === 0) return `${file} has no records: nothing was tried`;
  const bad = refused.reduce((sum, { records: count }) => sum + count, 0);
  return [
    `${file}: ${countedText(records, bad)}`,
    ...refused.map((each) => `  ${refusalLine(each)}`),
    ...hints.map(({ text }) => `  warning: ${text}`),
  ].join('\n');
}

function countedText(records: number, bad: number): string {
  if (records === 1) return `the first record ${bad === 0 ? 'can' : 'cannot'} be counted`;
  return `${bad === 0 ? 'all' : records - bad} of the first ${records} records can be counted`;
}

export function describePlan(plan: Plan, path: string, nowMs: number): string {
  const views = plan.views.flatMap((view) => [
    `  ${view.name}: ${describeView(view, plan.zone, nowMs)}`,
    ...windowNotes(view.window, plan.zone, nowMs).map((note) => `    note: ${note}`),
  ]);
  const { time, dedupe } = planToJson(plan);
  return [
    `${path} is sound: pipeline '${plan.name}' over stream '${plan.stream}', plan ${plan.hash.slice(0, 8)}`,
    `  time: ${describeTime(time)}`,
    `  dedupe: ${dedupe === undefined ? 'none' : `by ${dedupe.id} within ${dedupe.within}`}`,
    ...views,
  ].join('\n');
}

function describeTime(time: TimeJson = {}): string {
  const { field, unit, zone, lateness, skew, earliest, idle = 'none' } = time;
  const from =
    field === undefined ? 'that of arrival' : `${field} (ISO 8601 text, or a number in ${unit})`;
  const bounds = field === undefined ? '' : `, skew ${skew}, earliest ${earliest}`;
  return `${from}, zone ${zone}, lateness ${lateness}${bounds}, idle ${idle}`;
}

function describeView(view: ViewPlan, zone: string, nowMs: number): string {
  const keys = view.groupBy.map(({ name }) => name).join(', ');
  const by = keys === '' ? 'of all records together' : `by ${keys}`;
  const aggregates = view.aggregates.map(({ name }) => name).join(', ');
  // Of all time nothing is late.
  const late = windowSpan(view.window) === null ? '' : `, late: ${view.late}`;
  return `${aggregates} ${by}, ${describeWindow(view.window, zone, nowMs)}${late}`;
}
