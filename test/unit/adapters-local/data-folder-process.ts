/**
 * A process that opens the data folder `argv[2]` for pipeline `argv[3]`, prints one line of JSON with what came of it, and
 * then waits to be killed. With a user id as `argv[4]` it gives up its rights to that user first.
 */
import { writeSync } from 'node:fs';
import { argv, exit, setuid } from 'node:process';
import { openDataFolder } from '../../../adapters/local/data-folder.ts';

const [, , path = '', pipelineName = '', userId] = argv;
if (userId !== undefined) setuid?.(Number(userId));

let answer: Record<string, unknown>;
try {
  const { kind } = await openDataFolder({ path, pipelineName, planHash: 'h1', planJson: '{}' });
  answer = { kind };
} catch (error) {
  const { name, message, problem, hint } = error as Error & { problem?: string; hint?: string };
  answer = { name, message, problem, hint };
}
writeSync(1, `${JSON.stringify(answer)}\n`);
if ('kind' in answer) setInterval(() => global.gc?.(), 50);
else exit(0);
