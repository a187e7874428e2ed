import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTelemetry } from '../../../functions/powertools-telemetry.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('what functions tell', () => {
  it('bears the request id of its invocation in each line, metrics too', () => {
    // Powertools writes to a console of its own outside its development mode.
    vi.stubEnv('POWERTOOLS_DEV', 'true');
    vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
    const lines: Record<string, unknown>[] = [];
    for (const method of ['info', 'error', 'log'] as const) {
      vi.spyOn(console, method).mockImplementation((line) => {
        lines.push(JSON.parse(String(line)));
      });
    }
    const telemetry = createTelemetry('flights');
    for (const awsRequestId of ['one', 'two']) {
      telemetry.follow({ awsRequestId, getRemainingTimeInMillis: () => 1 });
      telemetry.info('something', { shardId: 'shardId-1' });
      telemetry.failure('went wrong', new Error('why'), {});
      telemetry.count('Faults', 1);
      telemetry.publish();
      telemetry.publish();
    }
    expect(lines.map(({ requestId }) => requestId)).toEqual([
      ...['one', 'one', 'one'],
      ...['two', 'two', 'two'],
    ]);
    expect(lines[0]).toMatchObject({
      message: 'something',
      shardId: 'shardId-1',
      service: 'flights',
    });
  });
});
