import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';

/** A pipeline's table, as the construct makes it; the name is the test's. */
export const PIPELINE_TABLE: Omit<CreateTableCommandInput, 'TableName'> = {
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  AttributeDefinitions: [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'sk', AttributeType: 'S' },
  ],
  BillingMode: 'PAY_PER_REQUEST',
};
