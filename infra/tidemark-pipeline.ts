/**
 * A whole pipeline in a stack: stream, state, functions, mapping, schedules, alarms.
 *
 * What a deploy does, in this order: stores; functions with the plan that they carry; the activation of that plan; mapping and
 * schedules. Until the plan is active, code that carries it throws `HeldFault` and Lambda brings the batch again.
 */
import { CfnOutput, Stack, Token } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IStream } from 'aws-cdk-lib/aws-kinesis';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  type FunctionUrl,
  FunctionUrlAuthType,
  type Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { FUNCTION_NAMES, type FunctionName } from '../functions/deployment-contract.ts';
import { PipelineAlarms } from './alarms.ts';
import { deathCount } from './death-count.ts';
import { checkAtSynth } from './deployment-check.ts';
import { eventStream } from './event-stream.ts';
import { failureQueue } from './failure-queue.ts';
import { guardProducer, type ProducerFacts } from './guards/producer-guard.ts';
import { refuse } from './guards/refusal.ts';
import { PRODUCER_PERMISSIONS } from './permissions.ts';
import { pipelineDashboard } from './pipeline-dashboard.ts';
import { PipelineFunctions } from './pipeline-functions.ts';
import { dashboardUrl } from './pipeline-metrics.ts';
import type { TidemarkPipelineProps } from './pipeline-props.ts';
import { logicalPrefix, pipelineSettings } from './pipeline-settings.ts';
import { planActivation } from './plan-activation.ts';
import { type PipelineResources, resourceArns } from './resource-arns.ts';
import { schedules } from './schedules.ts';
import { stateBucket } from './state-bucket.ts';
import { stateTable } from './state-table.ts';
import { streamMapping } from './stream-mapping.ts';

export class TidemarkPipeline extends Construct {
  readonly stream: IStream;
  readonly table: ITable;
  readonly bucket: IBucket;
  /** `heartbeat` only where the pipeline says `time.idle`. */
  readonly functions: Readonly<Partial<Record<FunctionName, LambdaFunction>>>;
  /** Reads; calls are signed with IAM. */
  readonly queryUrl: FunctionUrl;
  /** Checkpoints and redrives; calls are signed with IAM. */
  readonly adminUrl: FunctionUrl;
  readonly alarmTopic: ITopic;

  readonly #resources: PipelineResources;

  constructor(scope: Construct, id: string, props: TidemarkPipelineProps) {
    super(scope, id);
    const settings = pipelineSettings(this, props);
    this.stream = eventStream(this, settings, props.stream);
    this.table = stateTable(this, settings, props.table);
    this.bucket = stateBucket(this, settings, props.bucket);
    const onFailure = failureQueue(this, settings);
    this.#resources = {
      table: this.table,
      bucket: this.bucket,
      keyPrefix: settings.keyPrefix,
      isBucketEmptied: settings.isBucketEmptied,
      stream: this.stream,
      streamKey: streamKey(props),
      onFailure,
    };
    const functions = new PipelineFunctions(this, settings, this.#resources);
    this.functions = functions.byName;
    deathCount(this, settings, functions.aggregate.logGroup);
    this.queryUrl = functions.query.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
    this.adminUrl = functions.admin.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
    const activation = planActivation(this, settings, functions, this.#resources);
    const ends = { stream: this.stream, aggregate: functions.aggregate, onFailure };
    const mapping = streamMapping(this, settings, ends);
    mapping.node.addDependency(activation);
    schedules(this, settings, functions, activation);
    const watched = { stream: this.stream, functions, onFailure };
    const alarms = new PipelineAlarms(this, settings, watched, props.alarmTopic);
    this.alarmTopic = alarms.topic;
    const dashboard = pipelineDashboard(this, settings, watched, alarms);
    this.#output(logicalPrefix(settings), {
      StreamName: this.stream.streamName,
      QueryUrl: this.queryUrl.url,
      AdminUrl: this.adminUrl.url,
      Dashboard: dashboardUrl(Stack.of(this), dashboard.dashboardName),
      MappingId: mapping.attrId,
      ...Object.fromEntries(
        Object.entries(functions.byName).map(([name, { functionName }]) => [
          `${name.charAt(0).toUpperCase()}${name.slice(1)}Function`,
          functionName,
        ]),
      ),
      TableName: this.table.tableName,
      BucketName: this.bucket.bucketName,
      OnFailureQueueUrl: onFailure.queueUrl,
      AlarmTopicArn: this.alarmTopic.topicArn,
    });
    checkAtSynth(this, {
      settings,
      resources: this.#resources,
      functions: FUNCTION_NAMES.flatMap((name) => {
        const made = functions.byName[name];
        return made === undefined ? [] : [{ name, made }];
      }),
      aggregate: functions.aggregate,
      mapping,
      activation,
    });
  }

  /**
   * The right to put records, and no more. Throws for a producer of another account where AWS manages the stream's key, which
   * admits nobody else.
   */
  grantPut(grantee: IGrantable): Grant {
    refuse(this.node.path, guardProducer(producerFacts(this, grantee, this.#resources.streamKey)));
    const arns = resourceArns(this.#resources, {});
    const grants = PRODUCER_PERMISSIONS.flatMap(({ on, actions }) => {
      const arn = arns[on];
      if (arn === undefined) return [];
      return [Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns: [arn] })];
    });
    return grants.reduce((all, one) => all.combine(one));
  }

  /** The right to call the query URL. */
  grantRead(grantee: IGrantable): Grant {
    return this.queryUrl.grantInvokeUrl(grantee);
  }

  /** The right to call the admin URL: checkpoints and redrives. */
  grantAdmin(grantee: IGrantable): Grant {
    return this.adminUrl.grantInvokeUrl(grantee);
  }

  /** Under names that do not follow the construct's path, for scripts. */
  #output(prefix: string, values: Readonly<Record<string, string>>): void {
    const outputs = new Construct(this, 'Outputs');
    for (const [name, value] of Object.entries(values)) {
      new CfnOutput(outputs, name, { value }).overrideLogicalId(`${prefix}${name}`);
    }
  }
}

/** A stream of the pipeline's own has none: AWS manages it. */
function streamKey({ stream, streamKey: given }: TidemarkPipelineProps): IKey | undefined {
  return given ?? stream?.encryptionKey;
}

function producerFacts(
  scope: Construct,
  { grantPrincipal: { principalAccount } }: IGrantable,
  key: IKey | undefined,
): ProducerFacts {
  const concrete = (account: string | undefined) =>
    account === undefined || Token.isUnresolved(account) ? undefined : account;
  return {
    producerAccount: concrete(principalAccount),
    pipelineAccount: concrete(Stack.of(scope).account),
    isKeyGiven: key !== undefined,
  };
}
