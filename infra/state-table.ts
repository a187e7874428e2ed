/**
 * The DynamoDB table: HEADs, small deltas, registry, inbox, quarantine.
 *
 * - Encrypted with a key that AWS owns: at no cost, and nobody can disable a key and so lock the state away.
 * - No TTL: nothing that a HEAD reaches may expire. The pipeline itself removes what nothing reaches.
 */
import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

export function stateTable(scope: Construct, settings: PipelineSettings): Table {
  return new Table(scope, 'Table', {
    ...explicitName(settings, 'tableName', 'state'),
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    sortKey: { name: 'sk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    encryption: TableEncryption.DEFAULT,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: settings.removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy: settings.removalPolicy,
  });
}
