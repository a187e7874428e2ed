import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PipelineFileError } from '../../../cli/pipeline-file.ts';
import { type PutPlace, planForPut } from '../../../cli/put-plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { smallPlan } from '../../world/small-log.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const dev = () =>
  serve(({ url }, response) => {
    response.statusCode = url === '/v1/pipeline' ? 200 : 404;
    response.end(JSON.stringify({ hash: smallPlan.hash, pipeline: planToJson(smallPlan) }));
  });

const FLIGHTS = 'examples/flights/tidemark.config.ts';
const place = (more: Partial<PutPlace>): PutPlace => ({
  pipeline: 'tidemark.config.ts',
  isFileNamed: false,
  stream: undefined,
  endpoint: null,
  ...more,
});

describe('the pipeline that records are put for', () => {
  it('is what runs where they go, before the default file', async () => {
    const endpoint = await dev();
    for (const pipeline of ['tidemark.config.ts', FLIGHTS]) {
      const plan = await planForPut(place({ pipeline, endpoint }));
      expect(plan).toEqual(smallPlan);
    }
    expect(await planForPut(place({ endpoint, stream: smallPlan.stream }))).toEqual(smallPlan);
  });

  it('is a file that is named before what runs', async () => {
    const named = place({ pipeline: FLIGHTS, isFileNamed: true, endpoint: await dev() });
    expect((await planForPut(named))?.name).toBe('flights');
    await expect(planForPut({ ...named, pipeline: 'missing.json' })).rejects.toThrow(
      PipelineFileError,
    );
  });

  it('is not one of another stream', async () => {
    expect(await planForPut(place({ endpoint: await dev(), stream: 'other' }))).toBeNull();
    expect(await planForPut(place({ pipeline: FLIGHTS, stream: 'other' }))).toBeNull();
  });

  it.each<[string, RequestListener]>([
    ['says nothing', () => {}],
    ['says nothing to its end', (_, response) => response.write('{"pipeline":')],
    ['is too busy', (_, response) => response.writeHead(503).end('{}')],
    ['fails', (_, response) => response.writeHead(500).end('{}')],
  ])('is not guessed where what is there %s', async (_, listener) => {
    const endpoint = await serve(listener);
    for (const stream of [undefined, 'flights']) {
      const asked = planForPut(place({ pipeline: FLIGHTS, endpoint, stream }), 300);
      await expect(asked).rejects.toThrow(
        /what runs at http:\S+ did not say within 0\.3 s which pipeline it has\n.*--pipeline/,
      );
    }
  });

  it('is what runs there, once it is no longer too busy', async () => {
    let asked = 0;
    const endpoint = await serve((_, response) => {
      if (++asked === 1) response.writeHead(503).end('{}');
      else response.end(JSON.stringify({ pipeline: planToJson(smallPlan) }));
    });
    expect(await planForPut(place({ endpoint }))).toEqual(smallPlan);
  });

  it.each<[string, RequestListener]>([
    ['answers otherwise', (_, response) => response.end('<html>')],
    ['has no pipeline', (_, response) => response.end('{"pipeline":{"name":1}}')],
    ['refuses', (_, response) => response.writeHead(404).end('{}')],
    ['closes', ({ socket }) => socket.destroy()],
  ])('is the default file where what is there %s', async (_, listener) => {
    const endpoint = await serve(listener);
    expect((await planForPut(place({ pipeline: FLIGHTS, endpoint })))?.name).toBe('flights');
    await expect(planForPut(place({ endpoint }))).rejects.toThrow(
      /no `tidemark dev` answers at http:\S+ either; name the pipeline file with --pipeline, or the stream/,
    );
    expect(await planForPut(place({ endpoint, stream: 'flights' }))).toBeNull();
  });
});
