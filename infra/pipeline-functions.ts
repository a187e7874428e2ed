/**
 * The functions: each with its own code, role and log group. Heartbeats only where the plan asks for them (`time.idle`).
 */
import { Duration } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type FunctionName, HANDLER } from '../functions/deployment-contract.ts';
import { emulatorEnvironment, explicitName } from './emulator-target.ts';
import { functionCode } from './function-assets.ts';
import { functionEnvironment } from './function-environment.ts';
import { acknowledgeObjectWildcard, acknowledgeRuntime } from './nag-acknowledgements.ts';
import { OBJECT_KEYS, PERMISSIONS } from './permissions.ts';
import type { PipelineSettings } from './pipeline-settings.ts';
import {
  type PipelineResources,
  policyStatements,
  type ResourceArns,
  resourceArns,
} from './resource-arns.ts';

interface Sizing {
  readonly what: string;
  readonly memorySize: number;
  readonly timeout: Duration;
  readonly reservedConcurrentExecutions?: number;
  readonly retryAttempts?: number;
  readonly maxEventAge?: Duration;
}

/** Asynchronous invocations come by time: what waited for longer than that is asked for again. */
const ONCE = { retryAttempts: 0, maxEventAge: Duration.minutes(1) };

const QUERY: Sizing = { what: 'answers reads', memorySize: 1024, timeout: Duration.seconds(60) };
const ADMIN: Sizing = {
  what: 'activates plans, and does what a person asks',
  memorySize: 1024,
  // It waits for the aggregate function.
  timeout: Duration.minutes(15),
};
const TICK: Sizing = {
  what: 'looks after all slices, once a minute',
  memorySize: 512,
  timeout: Duration.minutes(5),
  ...ONCE,
};
const HEARTBEAT: Sizing = {
  what: 'puts a heartbeat to each shard',
  memorySize: 256,
  timeout: Duration.seconds(30),
  ...ONCE,
};

export class PipelineFunctions extends Construct {
  readonly aggregate: LambdaFunction;
  readonly query: LambdaFunction;
  readonly admin: LambdaFunction;
  readonly tick: LambdaFunction;
  readonly heartbeat: LambdaFunction | null;

  readonly #settings: PipelineSettings;
  readonly #resources: PipelineResources;

  constructor(scope: Construct, settings: PipelineSettings, resources: PipelineResources) {
    super(scope, 'Functions');
    this.#settings = settings;
    this.#resources = resources;
    const { aggregateMemoryMiB, aggregateTimeout, reservedConcurrency, queryConcurrency } =
      settings;
    this.aggregate = this.#make('aggregate', {
      what: 'folds records and checkpoints them',
      memorySize: aggregateMemoryMiB,
      timeout: aggregateTimeout,
      ...ONCE,
      ...reserved(reservedConcurrency),
    });
    this.query = this.#make('query', { ...QUERY, ...reserved(queryConcurrency) });
    this.admin = this.#make('admin', ADMIN, this.aggregate);
    this.tick = this.#make('tick', TICK, this.aggregate);
    this.heartbeat = settings.plan.idleMs === null ? null : this.#make('heartbeat', HEARTBEAT);
  }

  get byName(): Readonly<Partial<Record<FunctionName, LambdaFunction>>> {
    const { aggregate, query, admin, tick, heartbeat } = this;
    return { aggregate, query, admin, tick, ...(heartbeat === null ? {} : { heartbeat }) };
  }

  #make(name: FunctionName, sizing: Sizing, aggregate?: LambdaFunction): LambdaFunction {
    const { what, ...lambdaSizing } = sizing;
    const settings = this.#settings;
    const scope = new Construct(this, name.charAt(0).toUpperCase() + name.slice(1));
    const named = explicitName(settings, 'functionName', name);
    const logGroup = new LogGroup(scope, 'Logs', {
      ...(named.functionName === undefined
        ? {}
        : { logGroupName: `/aws/lambda/${named.functionName}` }),
      retention: settings.logRetention,
      removalPolicy: settings.removalPolicy,
    });
    const role = new Role(scope, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `Tidemark ${settings.plan.name}: ${name}`,
    });
    const own = { logs: logGroup, ...(aggregate === undefined ? {} : { aggregate }) };
    const arns = resourceArns(this.#resources, own);
    for (const statement of policyStatements(PERMISSIONS[name], arns)) {
      role.addToPrincipalPolicy(statement);
    }
    for (const objectsArn of objectArns(name, arns)) acknowledgeObjectWildcard(role, objectsArn);
    const made = new LambdaFunction(scope, 'Function', {
      ...named,
      ...lambdaSizing,
      description: `Tidemark ${settings.plan.name}: ${what}`,
      runtime: settings.target === 'emulator' ? Runtime.PROVIDED_AL2023 : Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: HANDLER,
      code: functionCode(this, settings, name),
      environment: {
        ...functionEnvironment(settings, this.#resources, aggregate),
        ...(settings.target === 'emulator' ? emulatorEnvironment() : {}),
      },
      role,
      logGroup,
      tracing: Tracing.DISABLED,
    });
    if (settings.target === 'emulator') acknowledgeRuntime(made);
    return made;
  }
}

/** Of the objects that a function may touch, whichever share of them it is: each ends in a wildcard. */
function objectArns(name: FunctionName, arns: ResourceArns): ReadonlySet<string> {
  const named = PERMISSIONS[name].flatMap(({ on }) => {
    const arn = OBJECT_KEYS.has(on) ? arns[on] : undefined;
    return arn === undefined ? [] : [arn];
  });
  return new Set(named);
}

function reserved(count: number | undefined): Pick<Sizing, 'reservedConcurrentExecutions'> {
  return count === undefined ? {} : { reservedConcurrentExecutions: count };
}
