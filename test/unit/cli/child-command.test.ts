import { expect, it } from 'vitest';
import { portVariables } from '../../../cli/child-command.ts';

it('a command beside tidemark dev finds every API there, whatever its variables named before', () => {
  const url = 'http://127.0.0.1:4580';
  const before = { TIDEMARK_ADMIN_URL: 'https://abc.lambda-url.eu-west-1.on.aws', OTHER: 'kept' };

  expect({ ...before, ...portVariables(url, 'eu-west-1') }).toEqual({
    AWS_ENDPOINT_URL_KINESIS: url,
    AWS_REGION: 'eu-west-1',
    AWS_DEFAULT_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    TIDEMARK_QUERY_URL: url,
    TIDEMARK_ADMIN_URL: url,
    OTHER: 'kept',
  });
});
