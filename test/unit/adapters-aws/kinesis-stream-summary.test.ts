import type { KinesisClient } from '@aws-sdk/client-kinesis';
import { describe, expect, it } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { StreamSummary } from '../../../adapters/aws/kinesis/stream-summary.ts';

function retentionOf(
  hoursOfStream: () => number | undefined,
  hoursMax: number,
  created: () => Date | undefined = () => undefined,
) {
  let asked = 0;
  let nowMs = 0;
  const send = async () => {
    asked++;
    return {
      StreamDescriptionSummary: {
        RetentionPeriodHours: hoursOfStream(),
        StreamCreationTimestamp: created(),
      },
    };
  };
  const made = new StreamSummary({
    client: { send } as unknown as KinesisClient,
    calls: new AwsCalls({ timeLeftMs: () => 60_000 }),
    streamArn: 'arn',
    hoursMax,
    clock: { nowMs: () => nowMs },
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { made, pass, asked: () => asked };
}

describe('the retention that proofs stand on', () => {
  it.each([
    ['what the stream keeps, where that is less than was deployed', 24, 168, 24],
    ['what was deployed, where the stream keeps more since', 8760, 168, 168],
    ['the least that there is, where the stream does not say', undefined, 168, 24],
  ])('is %s', async (_, stream, deployed, expected) => {
    expect(await retentionOf(() => stream, deployed).made.hours()).toBe(expected);
  });

  it('is asked again now and then, since anybody may lower it', async () => {
    let hours = 168;
    const { made, pass, asked } = retentionOf(() => hours, 168);
    expect(await made.hours()).toBe(168);
    hours = 24;
    pass(9 * 60_000);
    expect(await made.hours()).toBe(168);
    pass(2 * 60_000);
    expect(await made.hours()).toBe(24);
    expect(asked()).toBe(2);
  });
});

describe('which stream it is', () => {
  it('follows from the second of its creation: made again, it is another', async () => {
    let created = new Date('2026-03-01T10:00:00.123Z');
    const { made, pass, asked } = retentionOf(
      () => 24,
      24,
      () => created,
    );
    const first = await made.streamId();
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    created = new Date('2026-03-01T10:00:00.900Z');
    pass(11 * 60_000);
    expect(await made.streamId()).toBe(first);
    created = new Date('2026-03-01T10:05:00Z');
    pass(11 * 60_000);
    expect(await made.streamId()).not.toBe(first);
    // With the retention, by one call.
    await made.hours();
    expect(asked()).toBe(3);
  });
});
