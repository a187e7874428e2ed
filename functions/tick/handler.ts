/**
 * The tick function, once a minute.
 */
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';
import { type TickPorts, tickPipeline } from './pipeline-tick.ts';

export interface TickHandlerPorts extends TickPorts {
  readonly telemetry: Telemetry;
}

export function createTickHandler(ports: TickHandlerPorts): () => Promise<void> {
  return async () => {
    const { telemetry } = ports;
    try {
      await tickPipeline(ports);
    } catch (error) {
      telemetry.count(METRIC.otherFaults, 1);
      telemetry.failure('tick failed', error, {});
      throw error;
    } finally {
      telemetry.publish();
    }
  };
}
