import { describe, expect, it } from 'vitest';
import { InvariantFault, TransientFault } from '../../../../core/faults.ts';
import { problem, refusalOfError } from '../../../../runtime/http/problem.ts';

describe('problems', () => {
  it('are problem+json with what programs and people need', () => {
    const answer = problem(404, 'unknown-view', "There is no view 'delays'.", {
      path: 'view',
      expected: ['delay_by_origin'],
      found: 'delays',
    });
    expect(answer.status).toBe(404);
    expect(answer.headers).toEqual({ 'content-type': 'application/problem+json' });
    expect(JSON.parse(answer.body as string)).toEqual({
      type: 'urn:tidemark:problem:unknown-view',
      title: 'Not Found',
      status: 404,
      detail: "There is no view 'delays'.",
      code: 'unknown-view',
      path: 'view',
      expected: ['delay_by_origin'],
      found: 'delays',
    });
  });
});

describe('errors that a route throws', () => {
  it('ask the client to come again if they are transient, with their hint', () => {
    const refusal = refusalOfError(new TransientFault('cannot append', { hint: 'free space' }));
    expect(refusal).toEqual({
      status: 503,
      code: 'try-again',
      detail: 'cannot append: free space',
    });
  });

  it('do not show what is inside if they are ours', () => {
    const refusal = refusalOfError(new Error('the secret of a stack'));
    expect(refusal).toMatchObject({ status: 500, code: 'internal' });
    expect(refusal.detail).not.toContain('secret');
    expect(refusalOfError(new InvariantFault('cursor-is-monotone')).detail).toContain(
      'cursor-is-monotone',
    );
  });
});
