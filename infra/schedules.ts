/**
 * What happens by time: a tick a minute, and heartbeats where the plan asks for them.
 */
import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as FunctionTarget } from 'aws-cdk-lib/aws-events-targets';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct, type IDependable } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineFunctions } from './pipeline-functions.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

const MINUTE_MS = 60_000;
/** EventBridge's finest. */
const MINUTES_MIN = 1;
/** A window waits for the next heartbeat at most this long over its idle bound. */
const MINUTES_MAX = 5;

/** Starts when the plan is active: before, every tick would be held. */
export function schedules(
  scope: Construct,
  settings: PipelineSettings,
  functions: PipelineFunctions,
  activation: IDependable,
): void {
  const { idleMs } = settings.plan;
  const every = (name: string, minutes: number, target: IFunction) => {
    const rule = new Rule(new Construct(scope, name), 'Schedule', {
      ...explicitName(settings, 'ruleName', name.toLowerCase()),
      description: `Tidemark ${settings.plan.name}: ${name.toLowerCase()}`,
      schedule: Schedule.rate(Duration.minutes(minutes)),
      // The next one comes soon, and does what this one did not.
      targets: [new FunctionTarget(target, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
    });
    rule.node.addDependency(activation);
  };
  every('Tick', MINUTES_MIN, functions.tick);
  if (functions.heartbeat !== null && idleMs !== null) {
    every('Heartbeat', heartbeatMinutes(idleMs), functions.heartbeat);
  }
}

/** Twice within the idle bound, so that one that is lost delays nothing by more than that. */
export function heartbeatMinutes(idleMs: number): number {
  const minutes = Math.floor(idleMs / 2 / MINUTE_MS);
  return Math.min(MINUTES_MAX, Math.max(MINUTES_MIN, minutes));
}
