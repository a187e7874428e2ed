/**
 * What CloudFormation asks of the admin function when a stack goes. The emulator deletes a bucket with all that it holds, where S3
 * would refuse; so the lane asks the function itself, and looks whether the bucket is empty.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvokeCommand, LambdaClient, ListFunctionsCommand } from '@aws-sdk/client-lambda';
import type { ActivationProperties } from '../../functions/deployment-contract.ts';
import { EMULATOR_CREDENTIALS, EMULATOR_REGION } from '../aws-emulator.ts';
import { countObjects } from './stored-state.ts';

const ANSWER_MS_MAX = 60_000;

export async function checkFarewell(endpoint: string): Promise<void> {
  const before = await countObjects(endpoint);
  assert.ok(before > 0, 'the bucket holds nothing: that it is emptied would prove nothing');
  const server = createServer().listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const [status] = await Promise.all([
      answerTo(once(server, 'request', { signal })),
      askToDelete(endpoint, `http://127.0.0.1:${port}/answer`),
    ]);
    assert.equal(status, 'SUCCESS');
  } finally {
    server.close();
  }
  assert.equal(await countObjects(endpoint), 0);
  console.log(`emptied: ${before} objects went when the stack was about to go`);
}

async function answerTo(request: Promise<unknown[]>): Promise<string> {
  const [asked, response] = (await request) as [IncomingMessage, { end: () => void }];
  const body = (await asked.toArray()).join('');
  response.end();
  return (JSON.parse(body) as { readonly Status: string }).Status;
}

async function askToDelete(endpoint: string, ResponseURL: string): Promise<void> {
  const settings = { endpoint, region: EMULATOR_REGION, credentials: EMULATOR_CREDENTIALS };
  const client = new LambdaClient(settings);
  const { Functions = [] } = await client.send(new ListFunctionsCommand());
  const name = Functions.map(({ FunctionName = '' }) => FunctionName).find(
    (each) => each.startsWith('tidemark-') && each.endsWith('-admin'),
  );
  if (name === undefined) throw new Error('the emulator has no admin function');
  const properties: ActivationProperties = { PlanHash: '', OnDelete: 'empty' };
  const event = {
    RequestType: 'Delete',
    ResponseURL,
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'Activation',
    ResourceProperties: properties,
  };
  await client.send(new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(event) }));
}
