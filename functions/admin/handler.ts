/**
 * The admin function: what changes a running pipeline. It has a URL and a role of its own; CloudFormation asks it too, to
 * activate the plan that was deployed.
 */
import type { UrlEvent, UrlResult } from '../function-url.ts';
import {
  type ActivationPorts,
  Attempts,
  answerActivation,
  type ResourceEvent,
} from './activation.ts';
import { type AdminPorts, answerAdmin } from './admin-router.ts';

export type AdminEvent = UrlEvent | ResourceEvent;

export type AdminHandlerPorts = AdminPorts & ActivationPorts;

export type AdminHandler = (event: AdminEvent) => Promise<UrlResult | null>;

export function createAdminHandler(ports: AdminHandlerPorts): AdminHandler {
  const attempts = new Attempts();
  return async (event) => {
    try {
      if (!('RequestType' in event)) return await answerAdmin(event, ports);
      await answerActivation(event, ports, attempts);
      return null;
    } finally {
      ports.telemetry.publish();
    }
  };
}
