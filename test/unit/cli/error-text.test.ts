import { expect, it } from 'vitest';
import { errorText } from '../../../cli/error-text.ts';

it('a working folder that is gone is told with a way out', () => {
  const error = new Error(
    'ENOENT: process.cwd failed with error no such file or directory, uv_cwd',
  );
  Object.assign(error, { code: 'ENOENT', syscall: 'uv_cwd' });
  expect(errorText(error)).toBe(
    'the folder that this command runs in no longer exists, and relative paths count from there\n  go to a folder that exists, or give absolute paths: --pipeline FILE, and --data DIR where the command has it',
  );
});
