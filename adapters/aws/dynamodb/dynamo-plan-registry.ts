/**
 * The newest activation of a plan in DynamoDB: one item, written under a condition on its ordinal. Each activation carries a
 * text of its own, so that one whose answer was lost knows itself when it is tried again.
 */
import { randomUUID } from 'node:crypto';
import { ConfigurationFault } from '../../../core/faults.ts';
import type { ActivePlan, PlanRegistry } from '../../../core/ports.ts';
import { type DynamoTable, ITEM_BYTES_MAX } from './dynamo-table.ts';
import {
  type Item,
  itemByteLength,
  numberOf,
  numberValue,
  packedOf,
  packedValue,
  textOf,
  textValue,
} from './item-values.ts';

const KEY = { pk: 'plan', sk: 'active' };

export class DynamoPlanRegistry implements PlanRegistry {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async active(): Promise<ActivePlan | null> {
    const item = await this.#table.get('read the active plan', KEY);
    if (item === null) return null;
    return {
      ordinal: numberOf(item, 'ordinal'),
      hash: textOf(item, 'hash'),
      pipeline: packedOf(item, 'pipeline'),
    };
  }

  async activate(plan: ActivePlan): Promise<'applied' | 'refused'> {
    if (plan.ordinal < 1) return 'refused';
    const what = `activate plan ${plan.ordinal}`;
    const attempt = randomUUID();
    const item = toItem(plan, attempt);
    const put =
      plan.ordinal === 1
        ? await this.#table.putIf(what, item)
        : await this.#table.putIf(what, item, {
            ConditionExpression: '#ordinal = :before',
            ExpressionAttributeNames: { '#ordinal': 'ordinal' },
            ExpressionAttributeValues: { ':before': numberValue(plan.ordinal - 1) },
          });
    if (put.outcome === 'applied') return 'applied';
    return put.current?.['attempt']?.S === attempt ? 'applied' : 'refused';
  }
}

function toItem({ ordinal, hash, pipeline }: ActivePlan, attempt: string): Item {
  const item: Item = {
    pk: { S: KEY.pk },
    sk: { S: KEY.sk },
    ordinal: numberValue(ordinal),
    hash: textValue(hash),
    pipeline: packedValue(pipeline),
    attempt: { S: attempt },
  };
  const byteLength = itemByteLength(item);
  if (byteLength <= ITEM_BYTES_MAX) return item;
  throw new ConfigurationFault(
    `plan ${ordinal} is too large: ${byteLength} bytes compressed, at most ${ITEM_BYTES_MAX} fit an item of DynamoDB`,
    { hint: 'divide the pipeline into several' },
  );
}
