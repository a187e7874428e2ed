/*
 * The runtime of functions on an emulator (`provided.al2023`): takes invocations from the Lambda runtime API and gives them to
 * the handler. Emulators lose the names of errors in their own Node runtimes; here a fault keeps its name.
 */
import { request } from 'node:http';

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const [file, exportName] = process.env._HANDLER.split('.');

const handler = await loadHandler();
for (;;) await serveOne(handler);

async function loadHandler() {
  try {
    const loaded = await import(new URL(`./${file}.mjs`, import.meta.url).href);
    return loaded[exportName];
  } catch (error) {
    await tell('/init/error', error);
    process.exit(1);
  }
}

async function serveOne(handle) {
  const { headers, text } = await call('GET', '/invocation/next');
  const requestId = headers['lambda-runtime-aws-request-id'];
  const deadlineMs = Number(headers['lambda-runtime-deadline-ms']);
  const context = {
    awsRequestId: requestId,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    getRemainingTimeInMillis: () => deadlineMs - Date.now(),
  };
  try {
    const answer = await handle(JSON.parse(text), context);
    await call('POST', `/invocation/${requestId}/response`, JSON.stringify(answer ?? null));
  } catch (error) {
    await tell(`/invocation/${requestId}/error`, error);
  }
}

async function tell(path, error) {
  const errorType = error?.name ?? 'Error';
  const body = JSON.stringify({
    errorType,
    errorMessage: error?.message ?? String(error),
    trace: String(error?.stack ?? '').split('\n'),
  });
  await call('POST', path, body, { 'lambda-runtime-function-error-type': errorType });
}

function call(method, path, body, extraHeaders = {}) {
  const headers = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host,
        port,
        method,
        path: `/2018-06-01/runtime${path}`,
        headers: { ...headers, ...extraHeaders },
      },
      (response) => {
        const parts = [];
        response.on('data', (part) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          resolve({ headers: response.headers, text: Buffer.concat(parts).toString() });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
