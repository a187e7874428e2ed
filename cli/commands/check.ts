import { Command } from 'commander';
import { formatHours } from '../../core/definition/duration.ts';
import type { Plan, ViewPlan, WindowPlan } from '../../core/definition/plan.ts';
import { planToJson } from '../../core/definition/plan-json.ts';
import { jsonOption, pipelineOption } from '../option-values.ts';
import { loadPipelineFile } from '../pipeline-file.ts';

export function checkCommand(): Command {
  return new Command('check')
    .description('read a pipeline file and say what it means, or what is wrong with it')
    .addOption(pipelineOption())
    .addOption(jsonOption())
    .action(async (options: { pipeline: string; json?: boolean }) => {
      const plan = await loadPipelineFile(options.pipeline);
      if (options.json)
        console.log(JSON.stringify({ hash: plan.hash, ...planToJson(plan) }, null, 2));
      else console.log(describePlan(plan, options.pipeline));
    });
}

function describePlan(plan: Plan, path: string): string {
  const views = plan.views.map((view) => `  ${view.name}: ${describeView(view)}`);
  const dedupe = plan.dedupe === null ? [] : [`  dedupe by ${plan.dedupe.path.join('.')}`];
  return [
    `${path} is sound: pipeline '${plan.name}' over stream '${plan.stream}', plan ${plan.hash.slice(0, 8)}`,
    ...dedupe,
    ...views,
  ].join('\n');
}

function describeView(view: ViewPlan): string {
  const keys = view.groupBy.map(({ name }) => name).join(', ');
  const by = keys === '' ? 'all records together' : `by ${keys}`;
  const aggregates = view.aggregates.map(({ name }) => name).join(', ');
  return `${aggregates} ${by}, ${describeWindow(view.window)}`;
}

function describeWindow(window: WindowPlan): string {
  if (window.kind === 'all') return 'all time';
  return `windows of ${window.days > 0 ? `${window.days}d` : formatHours(window.sizeMs)}`;
}
