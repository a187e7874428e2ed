/**
 * Activating the plan that was deployed, as a resource of the stack: CloudFormation asks after the functions carry it, and
 * asks again with the plan before when it rolls back. It waits for an answer at a URL of its own, so there is one always, FAILED
 * with the reason where it could not be done. An environment that still carries the code before throws first, so that Lambda
 * brings the request again.
 */
import { ConfigurationFault, TransientFault } from '../../core/faults.ts';
import { type ActivationProperties, METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';

/** What CloudFormation sends for a custom resource. */
export interface ResourceEvent {
  readonly RequestType: 'Create' | 'Update' | 'Delete';
  readonly ResponseURL: string;
  readonly StackId: string;
  readonly RequestId: string;
  readonly LogicalResourceId: string;
  readonly PhysicalResourceId?: string;
  readonly ResourceProperties: ActivationProperties;
}

export interface ActivationPorts {
  /** Deletes every object of the pipeline. */
  readonly emptyBucket: () => Promise<void>;
  /** Makes the plan of this code the active one; says what that means for the state that is there. */
  readonly activate: () => Promise<object>;
  /** Of the plan of this code. */
  readonly planHash: string;
  readonly put: (url: string, body: string) => Promise<void>;
  /** How long what may pass is tried again: rights take a while to spread after they were given. */
  readonly patienceMs?: number;
  readonly pauseMs?: number;
  readonly telemetry: Telemetry;
}

/** One that stays: another would make CloudFormation delete the resource before. */
const PHYSICAL_ID = 'tidemark-active-plan';
const REASON_LENGTH_MAX = 1_000;
const PATIENCE_MS = 90_000;
const PAUSE_MS = 5_000;

export async function answerActivation(
  event: ResourceEvent,
  ports: ActivationPorts,
  attempts: Attempts,
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = event;
  const common = { PhysicalResourceId: PHYSICAL_ID, StackId, RequestId, LogicalResourceId };
  const answer = await outcomeOf(event, ports, attempts);
  await ports.put(event.ResponseURL, JSON.stringify({ ...common, ...answer }));
}

async function outcomeOf(
  { RequestType, RequestId, ResourceProperties }: ResourceEvent,
  ports: ActivationPorts,
  attempts: Attempts,
): Promise<object> {
  const { activate, emptyBucket, planHash, telemetry } = ports;
  const { PlanHash, OnDelete } = ResourceProperties;
  try {
    if (RequestType === 'Delete') {
      if (OnDelete === 'empty') await patiently(emptyBucket, ports);
      return { Status: 'SUCCESS' };
    }
    if (PlanHash !== planHash) throw new OtherPlanError(PlanHash, planHash);
    const activation = await patiently(activate, ports);
    telemetry.info('plan activated', activation);
    return { Status: 'SUCCESS', Data: { PlanHash } };
  } catch (error) {
    if (error instanceof OtherPlanError && attempts.isAskedAgain(RequestId)) throw error;
    telemetry.count(METRIC.otherFaults, 1);
    telemetry.failure('plan not activated', error, {});
    const hint = error instanceof Error && 'hint' in error ? `: ${error.hint}` : '';
    const Reason = `${error instanceof Error ? error.message : error}${hint}`;
    return { Status: 'FAILED', Reason: Reason.slice(0, REASON_LENGTH_MAX) };
  }
}

/** Times that Lambda brings an asynchronous event: the first, and two more, minutes later. */
const ATTEMPTS = 3;

/** How often this environment was brought a request that it cannot answer as the code before. */
export class Attempts {
  readonly #counts = new Map<string, number>();

  /** Whether Lambda brings the request again if this attempt throws: by then the code that was deployed may answer. */
  isAskedAgain(requestId: string): boolean {
    const count = (this.#counts.get(requestId) ?? 0) + 1;
    this.#counts.set(requestId, count);
    return count < ATTEMPTS;
  }
}

async function patiently<Result>(
  work: () => Promise<Result>,
  { patienceMs = PATIENCE_MS, pauseMs = PAUSE_MS }: ActivationPorts,
): Promise<Result> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const mayPass = error instanceof TransientFault || error instanceof ConfigurationFault;
      if (!mayPass || performance.now() + pauseMs > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** The function was asked before its own code was replaced. */
class OtherPlanError extends Error {
  readonly hint = 'deploy again';

  constructor(asked: string, carried: string) {
    super(`plan ${asked} is to be activated, the admin function carries ${carried}`);
    this.name = 'OtherPlanError';
  }
}
