/**
 * JSON objects that a service puts around what a producer meant as the record. Each is told by names that it always has.
 */
import { isJsonObject, type JsonObject } from './field-lookup.ts';

export interface Envelope {
  /** What it is, with its article. */
  readonly name: string;
  /** What to do about it. */
  readonly advice: string;
}

const UNWRAP = 'put a Lambda function or a pipe between that puts what is inside';

/** The envelope that a record is, or null. */
export function envelopeOf(record: JsonObject): Envelope | null {
  const found = ENVELOPES.find(
    ({ names, is }) => names.every((name) => Object.hasOwn(record, name)) && (is?.(record) ?? true),
  );
  return found === undefined ? null : { name: found.name, advice: found.advice };
}

/** What to do about an object around a list of objects, which may be the records that were meant; null for any other. */
export function listAdvice(record: JsonObject): string | null {
  for (const [name, value] of Object.entries(record)) {
    if (!Array.isArray(value) || !isJsonObject(value[0])) continue;
    // In single quotes of a shell, which would end at another one.
    const quoted = JSON.stringify(name).replaceAll("'", String.raw`\u0027`);
    const path = /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `.[${quoted}]`;
    return `if the records are inside '${name}': jq -c '${path}[]' FILE | npx tidemark put - …`;
  }
  return null;
}

interface KnownEnvelope extends Envelope {
  readonly names: readonly string[];
  readonly is?: (record: JsonObject) => boolean;
}

const ENVELOPES: readonly KnownEnvelope[] = [
  {
    name: 'a change of a DynamoDB table',
    names: ['dynamodb', 'eventName', 'tableName'],
    advice: `its item is under dynamodb.NewImage, with a type around each value ({"N": "7"}): ${UNWRAP}, unmarshalled`,
  },
  {
    name: 'an EventBridge event',
    names: ['detail-type', 'source', 'detail'],
    advice: 'its own fields lie under detail: write detail.FIELD in the pipeline file',
  },
  {
    name: 'an SNS notification',
    names: ['Type', 'TopicArn', 'Message'],
    advice: `its message is text under Message: ${UNWRAP}, or let the subscription deliver raw messages`,
  },
  {
    name: 'a batch of CloudWatch Logs',
    names: ['messageType', 'logGroup', 'logEvents'],
    advice: `it has several log events: ${UNWRAP}, one record for each`,
  },
  {
    name: 'a change from AWS DMS',
    names: ['data', 'metadata'],
    is: ({ metadata }) => hasName(metadata, 'record-type'),
    advice: 'the row lies under data: write data.FIELD in the pipeline file',
  },
  {
    name: 'a change from Debezium',
    names: ['schema', 'payload'],
    is: ({ payload }) => hasName(payload, 'op'),
    advice: 'the row lies under payload.after: write payload.after.FIELD in the pipeline file',
  },
  {
    name: 'a change from Debezium',
    names: ['before', 'after', 'op', 'source'],
    advice: 'the row lies under after: write after.FIELD in the pipeline file',
  },
  {
    name: 'a record of a Firehose transformation',
    names: ['recordId', 'data'],
    advice: `its data is base64 under data: ${UNWRAP}`,
  },
  {
    name: 'the event of a Lambda function',
    names: ['Records'],
    is: ({ Records: records }) =>
      Array.isArray(records) &&
      records.length > 0 &&
      (hasName(records[0], 'eventSource') || hasName(records[0], 'EventSource')),
    advice: `it has several records under Records: ${UNWRAP}, one record for each`,
  },
];

function hasName(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}
