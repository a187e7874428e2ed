import type { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, it } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { LambdaFunction } from '../../../adapters/aws/lambda/lambda-function.ts';

type Answer = { StatusCode?: number; FunctionError?: string; Payload?: Uint8Array };

/** A function whose invocations get these answers, in turn. */
function functionOf(...answers: (Answer | Error)[]) {
  const sent: InvokeCommand['input'][] = [];
  const send = async ({ input }: InvokeCommand) => {
    sent.push(input);
    const answer = answers.shift() ?? {};
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const calls = new AwsCalls({ timeLeftMs: () => 60_000, pauseMs: 1 });
  return { made: new LambdaFunction({ send } as unknown as LambdaClient, 'fold', calls), sent };
}

const json = (value: unknown) => ({ Payload: Buffer.from(JSON.stringify(value)) });

describe('another function', () => {
  it('is asked with JSON, and answers with it', async () => {
    const { made, sent } = functionOf(json([{ epoch: 3 }]));
    expect(await made.ask({ tidemark: 'tick', shardId: 'ü' })).toEqual([{ epoch: 3 }]);
    expect(sent).toMatchObject([{ FunctionName: 'fold', InvocationType: 'RequestResponse' }]);
    expect(JSON.parse(Buffer.from(sent[0]?.Payload as Uint8Array).toString())).toEqual({
      tidemark: 'tick',
      shardId: 'ü',
    });
  });

  it('may answer with nothing', async () => {
    expect(await functionOf({}).made.ask({})).toBeNull();
  });

  it('throws by its own error’s name', async () => {
    const thrown = json({ errorType: 'HeldFault', errorMessage: 'another plan' });
    const { made } = functionOf({ FunctionError: 'Unhandled', ...thrown });
    await expect(made.ask({})).rejects.toMatchObject({
      name: 'HeldFault',
      message: 'fold failed: HeldFault: another plan',
    });
  });

  it.each([
    ['that died without a word', { FunctionError: 'Unhandled' }],
    ['that told what is no JSON', { FunctionError: 'Unhandled', Payload: Buffer.from('<html>') }],
  ])('%s may be asked again', async (_, answer) => {
    await expect(functionOf(answer).made.ask({})).rejects.toMatchObject({ name: 'TransientFault' });
  });

  it('is started without waiting, and again where Lambda is busy', async () => {
    const busy = Object.assign(new Error('rate exceeded'), { name: 'TooManyRequestsException' });
    const { made, sent } = functionOf(busy, { StatusCode: 202 });
    await made.start({ tidemark: 'tick' });
    expect(sent.map(({ InvocationType }) => InvocationType)).toEqual(['Event', 'Event']);
  });
});
