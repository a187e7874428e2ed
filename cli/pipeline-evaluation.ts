/**
 * The thread that a pipeline file runs in: evaluates the module, judges its default export, and hands back the pipeline as
 * JSON, or what is wrong with it. The file's own code may do here what it likes.
 */
import { workerData } from 'node:worker_threads';
// All that `tidemark` is to the file: loaded before the hooks, it is none of the pipeline's own modules.
import '../core/definition/index.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import { loadingError } from './loading-error.ts';
import { importPipeline, syntaxErrorIn } from './module-hooks.ts';
import type { EvaluationData, EvaluationMessage } from './pipeline-file.ts';
import { silenceExperimentalWarnings } from './warnings.ts';

const { path: absolute, port } = workerData as EvaluationData;
// Out of reach of the code in the file, as is `postMessage` of a port that it makes its own.
Reflect.deleteProperty(workerData, 'port');
const post = port.postMessage.bind(port);
const read = new Set<string>();

silenceExperimentalWarnings();
process.on('uncaughtException', (error) => tell(failure(error)));
void evaluate().then(tell);

function tell(message: EvaluationMessage): void {
  post(message);
}

async function evaluate(): Promise<EvaluationMessage> {
  try {
    const exported = await importPipeline(absolute, tellRead);
    const value = await exported['default'];
    // A promise that was rejected and is awaited nowhere comes up before.
    await new Promise((resolve) => setImmediate(resolve));
    return judge(exported, isCompiledModule(value) ? value['default'] : value);
  } catch (cause) {
    return failure(cause);
  }
}

function tellRead(path: string): void {
  if (read.has(path)) return;
  read.add(path);
  tell({ kind: 'read', path });
}

function judge(exported: Readonly<Record<string, unknown>>, pipeline: unknown): EvaluationMessage {
  if (pipeline === undefined) {
    const names = Object.keys(exported).filter((name) => name !== 'default');
    const found = names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`;
    const expected = 'expected the pipeline as its default export: export default pipeline({ … })';
    return { kind: 'failed', message: `has no default export (${found}); ${expected}` };
  }
  const parsed = parsePlan(pipeline);
  if (parsed.ok) return { kind: 'pipeline', pipeline: planToJson(parsed.plan) };
  return { kind: 'problems', problems: parsed.problems };
}

function failure(thrown: unknown): EvaluationMessage {
  const cause = thrown instanceof SyntaxError ? (syntaxErrorIn(absolute) ?? thrown) : thrown;
  return { kind: 'failed', message: `could not be loaded:\n\n${loadingError(cause, absolute)}` };
}

/** True for what compilers make of `export default` where they write CommonJS. */
function isCompiledModule(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '__esModule');
}
