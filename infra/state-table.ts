/**
 * The DynamoDB table, unless one is given: HEADs, small deltas, registry, inbox, quarantine.
 *
 * - Encrypted with a key that AWS owns: at no cost, and no key can be disabled that would lock the state away.
 * - No TTL: nothing that a HEAD reaches may expire. The pipeline itself removes what nothing reaches.
 */
import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

export function stateTable(
  scope: Construct,
  settings: PipelineSettings,
  given: ITable | undefined,
): ITable {
  if (given !== undefined) return given;
  const table = new Table(scope, 'Table', {
    ...explicitName(settings, 'tableName', 'state'),
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.DEFAULT,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: settings.removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy: settings.removalPolicy,
  });
  // CDK's own types disagree where `undefined` is not the same as absent.
  return table as ITable;
}
