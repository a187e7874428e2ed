/**
 * The aggregate function as it is deployed.
 */
import { Aggregator } from '../../core/aggregator.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import { ENVIRONMENT_STATE_BYTES_MAX } from '../../core/limits.ts';
import { openAwsPipeline, systemClock } from '../aws-pipeline.ts';
import { loadPlan, required } from '../aws-variables.ts';
import { VARIABLE } from '../deployment-contract.ts';
import { createTelemetry } from '../powertools-telemetry.ts';
import { type AggregateHandler, createAggregateHandler } from './handler.ts';
import { observed } from './observed.ts';
import { tickingOn } from './ticking.ts';

/** Of the function's memory, for all slices: the rest is for a batch, for restoring, and for Node. */
const STATE_SHARE = 1 / 4;
/** For one slice that has the function to itself; what it writes as a base is in memory beside it. */
const SLICE_SHARE = 1 / 2;

const plan = loadPlan(import.meta.dirname);
const { ports, deadline } = openAwsPipeline(process.env, 'fold');
const memoryBytes = Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? 1024) * 1024 * 1024;
const stateBytesMax = Math.min(ENVIRONMENT_STATE_BYTES_MAX, memoryBytes * STATE_SHARE);
const sliceBytesMax = memoryBytes * SLICE_SHARE;
const bounds = { stateBytesMax, sliceBytesMax };
const aggregator = new Aggregator(plan, createJsonDecoder(plan), ports, bounds);
const aggregate = tickingOn(createAggregateHandler(aggregator));
const handle = observed(
  aggregate,
  createTelemetry(required(process.env, VARIABLE.service)),
  systemClock,
);

export const handler: AggregateHandler = (event, context) => {
  deadline.follow(context);
  return handle(event, context);
};
