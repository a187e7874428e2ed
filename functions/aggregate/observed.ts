/**
 * The aggregate function with its metrics and its log line: what each invocation did, and what it threw.
 */

import { ageToShow } from '../../core/elapsed.ts';
import type { Clock } from '../../core/ports.ts';
import { sliceIdOf } from '../../core/slice/topology.ts';
import type { DeliveryReport } from '../../core/task/delivery-report.ts';
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';
import type { AggregateEvent } from './aggregate-event.ts';
import type { AggregateHandler } from './handler.ts';
import type { KinesisEventRecord } from './kinesis-event.ts';

export function observed(
  handler: AggregateHandler,
  telemetry: Telemetry,
  clock: Clock,
): AggregateHandler {
  return async (event, context) => {
    const subject = subjectOf(event);
    const startMs = performance.now();
    telemetry.follow(context);
    // Lambda's line about a death has the request id alone: this one says which shard that was.
    telemetry.info(`${subject.asked} begins`, subject.details);
    try {
      const reports = await handler(event, context);
      for (const report of reports) measure(report, telemetry);
      if (subject.lastArrivalMs !== null) {
        const behindMs = ageToShow(subject.lastArrivalMs, clock.nowMs());
        if (behindMs !== null) telemetry.milliseconds(METRIC.behindMs, behindMs);
      }
      const tookMs = Math.round(performance.now() - startMs);
      telemetry.info(subject.asked, { ...subject.details, tookMs, reports });
      return reports;
    } catch (error) {
      const isHeld = error instanceof Error && error.name === 'HeldFault';
      telemetry.count(isHeld ? METRIC.held : METRIC.faults, 1);
      telemetry.failure(`${subject.asked} failed`, error, subject.details);
      throw error;
    } finally {
      telemetry.publish();
    }
  };
}

interface Subject {
  readonly asked: string;
  readonly details: object;
  readonly lastArrivalMs: number | null;
}

/** Of whatever was sent: what it is will be judged later. */
function subjectOf(event: AggregateEvent): Subject {
  if (typeof event === 'object' && event !== null && 'tidemark' in event) {
    const { tidemark, shardId, generation } = event;
    const details = {
      ...nameOf(String(shardId)),
      ...(generation === undefined ? {} : { generation }),
    };
    return { asked: String(tidemark), details, lastArrivalMs: null };
  }
  const records = Array.isArray(event?.Records) ? event.Records : [];
  const { length } = records;
  const first = records[0];
  const last = records[length - 1];
  if (!isKinesis(first) || !isKinesis(last)) {
    return { asked: 'deliver', details: { records: length }, lastArrivalMs: null };
  }
  const shardId = first.eventID.slice(0, first.eventID.indexOf(':'));
  return {
    asked: 'deliver',
    details: {
      ...nameOf(shardId),
      records: length,
      from: first.kinesis.sequenceNumber,
      to: last.kinesis.sequenceNumber,
    },
    lastArrivalMs: last.kinesis.approximateArrivalTimestamp * 1000,
  };
}

function isKinesis(record: unknown): record is KinesisEventRecord {
  return (record as KinesisEventRecord | undefined)?.kinesis !== undefined;
}

function nameOf(shardId: string): object {
  return { shardId, slice: sliceIdOf(shardId) };
}

function measure(report: DeliveryReport, telemetry: Telemetry): void {
  telemetry.count(METRIC.recordsFolded, report.folded);
  telemetry.count(METRIC.recordsReplayed, report.replayed);
  telemetry.count(METRIC.recordsQuarantined, report.quarantined);
  telemetry.count(METRIC.recordsLate, report.late);
  telemetry.count(METRIC.restores, report.restored);
  telemetry.count(METRIC.commits, report.commits);
  telemetry.count(METRIC.commitsRefused, report.refused);
  telemetry.count(METRIC.gapsPossible, report.possibleGap === null ? 0 : 1);
  telemetry.bytes(METRIC.checkpointBytes, report.savedBytes);
}
