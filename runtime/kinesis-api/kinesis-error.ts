/**
 * Kinesis's errors by their wire names, and how answers look in AWS JSON 1.1.
 */
import { randomUUID } from 'node:crypto';
import type { PortResponse } from '../http/route.ts';

const CONTENT_TYPE = 'application/x-amz-json-1.1';

/** The account that owns everything here; Kinesis's messages and ARNs name one. */
export const ACCOUNT_ID = '000000000000';

/** A request that Kinesis would refuse. `name` is what SDKs show as the exception. */
export class KinesisError extends Error {
  readonly status: number;

  constructor(name: string, message: string, status = 400) {
    super(message);
    this.name = name;
    this.status = status;
  }
}

export function resourceNotFound(message: string): KinesisError {
  return new KinesisError('ResourceNotFoundException', message);
}

export function invalidArgument(message: string): KinesisError {
  return new KinesisError('InvalidArgumentException', message);
}

/** The body is not what the operation's types say. */
export function serialization(message: string): KinesisError {
  return new KinesisError('SerializationException', message);
}

/** Members break their constraints. */
export function validation(violations: readonly string[]): KinesisError {
  const count = violations.length;
  const errors = count === 1 ? '1 validation error' : `${count} validation errors`;
  return new KinesisError('ValidationException', `${errors} detected: ${violations.join('; ')}`);
}

/** `body` is JSON. */
export function kinesisAnswer(body: string): PortResponse {
  return {
    status: 200,
    headers: { 'content-type': CONTENT_TYPE, 'x-amzn-requestid': randomUUID() },
    body,
  };
}

export function kinesisErrorAnswer(error: KinesisError): PortResponse {
  return {
    status: error.status,
    headers: {
      'content-type': CONTENT_TYPE,
      'x-amzn-requestid': randomUUID(),
      'x-amzn-errortype': error.name,
    },
    body: JSON.stringify({ __type: error.name, message: error.message }),
  };
}
