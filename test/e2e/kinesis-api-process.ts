/** A process that serves the Kinesis API over the stream in the file that is its argument. Prints its URL. */
import { LocalStream } from '../../adapters/local/stream/local-stream.ts';
import { PortServer } from '../../runtime/http/port-server.ts';
import { kinesisRoute } from '../../runtime/kinesis-api/kinesis-api.ts';

const clock = { nowMs: () => Date.now() };
const path = process.argv[2] as string;
const stream = LocalStream.open({ path, name: 'flights', clock, shardCount: 2 });
const server = await PortServer.listen({
  port: 0,
  routes: [kinesisRoute({ stream, clock, region: 'eu-central-1' })],
  onError: (error) => {
    throw error;
  },
});
process.stdout.write(`${server.url}\n`);
