import { Command } from 'commander';
import type { PathHint } from '../../core/decode/path-sample.ts';
import { awsOption, jsonOption, queryUrlOption, regionOption } from '../option-values.ts';
import { printable, printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { type PlaceOptions, queryPlace } from '../query-place.ts';
import { namesOf, type StreamStanding, unknownWatermarkLines } from '../slice-remarks.ts';
import { formatTable, numberText, shortTime, TERMINAL } from '../table.ts';

export interface Status extends StreamStanding {
  readonly pipeline: string;
  readonly plan: { readonly ordinal: number; readonly hash: string };
  readonly records: Readonly<Record<string, number>>;
  readonly partlyQuarantined: number;
  readonly partlyDropped: number;
  readonly pastDedupe: number;
  readonly watermark: string | null;
  readonly streamFault?: string;
  readonly slices: readonly {
    readonly id: string;
    readonly state: string;
    readonly timeline: number;
    readonly epoch: number;
    readonly behindMs: number | null;
    readonly checkpointAgeMs: number | null;
    readonly entries: number;
    readonly stateBytes: number;
  }[];
  /** Of `tidemark dev`: paths of the plan that found nothing in the first records that were put. */
  readonly hints?: readonly PathHint[];
}

export function statusCommand(): Command {
  return new Command('status')
    .description('how far each slice is, and what became of the records')
    .addOption(queryUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption())
    .action(async (options: PlaceOptions & { json?: boolean }) => {
      const status = await callQueryApi<Status>(queryPlace(options), '/v1/status');
      console.log(options.json ? printableJson(status, 2) : describeStatus(status));
    });
}

export function describeStatus(status: Status): string {
  const records = Object.entries(status.records).map(
    ([name, count]) => `${name} ${numberText(count)}`,
  );
  const none = unknownWatermarkLines(status).length > 0 ? 'not known' : 'none yet';
  const watermark = status.watermark === null ? none : shortTime(status.watermark);
  const columns = [
    ...['slice', 'state', 'timeline', 'epoch', 'behind ms', 'checkpoint age ms'],
    ...['entries', 'bytes'],
  ];
  const rows = status.slices.map((slice) => [
    slice.id,
    slice.state,
    slice.timeline,
    slice.epoch,
    slice.behindMs,
    slice.checkpointAgeMs,
    slice.entries,
    slice.stateBytes,
  ]);
  return [
    `pipeline ${status.pipeline}, plan ${status.plan.ordinal} (${status.plan.hash.slice(0, 8)}), watermark ${watermark}`,
    `records: ${records.join(', ')}`,
    ...remarks(status),
    formatTable(columns, rows, TERMINAL),
    ...(status.hints ?? []).map(({ text }) => `warning: ${printable(text)}`),
  ].join('\n');
}

function remarks(status: Status): string[] {
  const { partlyQuarantined, partlyDropped, pastDedupe, exempt, streamFault } = status;
  const lines: string[] = [];
  if (partlyDropped > 0) {
    lines.push(
      `${numberText(partlyDropped)} of the folded records were late for some views, which dropped them`,
    );
  }
  if (pastDedupe > 0) {
    lines.push(
      `${numberText(pastDedupe)} of the folded records were older than dedupe.within when they came: those that were sent before count twice`,
    );
  }
  if (partlyQuarantined > 0) {
    lines.push(
      `${numberText(partlyQuarantined)} of the folded records were late for some views, which did not take them: for these views they were quarantined`,
    );
  }
  lines.push(...unknownWatermarkLines(status));
  if (streamFault !== undefined) lines.push(`the stream: ${printable(streamFault)}`);
  if (exempt !== undefined) lines.push(`no record yet: ${namesOf(exempt)}`);
  return lines;
}
