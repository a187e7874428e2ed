/**
 * Loaded before kinesis-local, which listens on all interfaces and on ports that are asked for by number: here each server
 * gets a free port of the loopback interface. Prints that of the plain HTTP server.
 */
import { type AddressInfo, Server } from 'node:net';

const plainPort = Number(process.env['KINESIS_MOCK_PLAIN_PORT']);
const listen = Server.prototype.listen;

Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  const onListening = args.find((arg): arg is () => void => typeof arg === 'function');
  if (args[0] === plainPort) {
    this.once('listening', () => {
      process.stdout.write(`port ${(this.address() as AddressInfo).port}\n`);
    });
  }
  return listen.call(this, { port: 0, host: '127.0.0.1' }, onListening);
} as typeof listen;
