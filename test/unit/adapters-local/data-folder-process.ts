/**
 * A process that opens the data folder `argv[2]` for pipeline `argv[3]`, prints one line of JSON with what came of it, and
 * then waits to be killed. With a user id as `argv[4]` it gives up its rights to that user first.
 */
import { writeSync } from 'node:fs';
import { argv, exit, setuid } from 'node:process';
import { openDataFolder } from '../../../adapters/local/data-folder.ts';

const [, , path = '', pipelineName = '', userId] = argv;
if (userId !== undefined) setuid?.(Number(userId));

/** In a function of its own: when it has returned, nothing here refers to the folder. */
async function open(): Promise<Record<string, unknown>> {
  try {
    await openDataFolder({ path, pipelineName });
    return { kind: 'opened' };
  } catch (error) {
    const { name, message, problem, hint } = error as Error & { problem?: string; hint?: string };
    return { name, message, problem, hint };
  }
}

const answer = await open();
// What nobody refers to is gone before anybody looks.
await new Promise((resolve) => setTimeout(resolve, 20));
global.gc?.();
writeSync(1, `${JSON.stringify(answer)}\n`);
if ('kind' in answer) setInterval(() => {}, 1000);
else exit(0);
