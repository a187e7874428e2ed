import { describe, expect, it, onTestFinished } from 'vitest';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { Deployment } from '../../../runtime/deployment.ts';
import { smallPlan } from '../../world/small-log.ts';

const asked = (rawQueryString: string) => ({
  rawPath: '/v1/pipeline',
  rawQueryString,
  requestContext: { http: { method: 'GET' } },
});

describe('a deployment', () => {
  it('says which pipeline runs without a thread, which may have much to do', async () => {
    const deployment = new Deployment(smallPlan, {
      // No thread could open it.
      dataFolder: 'no-such-folder',
      region: 'us-east-1',
      environmentCount: 1,
      environmentMemoryMib: 64,
      invocationTimeoutMs: 1_000,
    });
    onTestFinished(() => deployment.close());
    const answer = (await deployment.query(asked(''))) as { statusCode: number; body: string };
    expect(answer.statusCode).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({
      hash: smallPlan.hash,
      pipeline: JSON.parse(JSON.stringify(planToJson(smallPlan))),
    });
    // What is wrong with a question is for the function to say.
    await expect(deployment.query(asked('x=1'))).rejects.toThrow();
  });
});
