/**
 * Asking another function, by its name.
 */
import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { TransientFault } from '../../../core/faults.ts';
import type { AwsCalls } from '../aws-calls.ts';

export class LambdaFunction {
  readonly #client: LambdaClient;
  readonly #name: string;
  readonly #calls: AwsCalls;

  /** `calls` bound how long an answer is waited for. */
  constructor(client: LambdaClient, name: string, calls: AwsCalls) {
    this.#client = client;
    this.#name = name;
    this.#calls = calls;
  }

  /** What the function returns for `payload`. Throws `FunctionFailure` for what it throws. */
  async ask(payload: unknown): Promise<unknown> {
    const { FunctionError, Payload } = await this.#send('RequestResponse', payload);
    const text = Payload === undefined ? '' : Buffer.from(Payload).toString('utf8');
    if (FunctionError !== undefined) throw failureOf(this.#name, text);
    return text === '' ? null : JSON.parse(text);
  }

  /** Has it asked, without waiting for what becomes of it. */
  async start(payload: unknown): Promise<void> {
    await this.#send('Event', payload);
  }

  #send(type: 'RequestResponse' | 'Event', payload: unknown) {
    const command = new InvokeCommand({
      FunctionName: this.#name,
      InvocationType: type,
      Payload: Buffer.from(JSON.stringify(payload)),
    });
    return this.#calls.send(`invoke ${this.#name}`, (abortSignal) =>
      this.#client.send(command, { abortSignal }),
    );
  }
}

/** What another function threw: `name` is its error's. */
export class FunctionFailure extends Error {
  constructor(functionName: string, errorType: string, errorMessage: string) {
    super(`${functionName} failed: ${errorType}: ${errorMessage}`);
    this.name = errorType;
  }
}

interface ThrownError {
  readonly errorType?: string;
  readonly errorMessage?: string;
}

function failureOf(name: string, text: string): Error {
  let thrown: ThrownError;
  try {
    thrown = JSON.parse(text) as ThrownError;
  } catch (cause) {
    return new TransientFault(`${name} ended without an answer: ${text.slice(0, 200)}`, { cause });
  }
  const { errorType = 'Error', errorMessage = 'it said nothing' } = thrown;
  return new FunctionFailure(name, errorType, errorMessage);
}
