/**
 * Virtual time: events in the order of (time, when they were scheduled), run one after the other. Between two events all
 * microtasks run, and nothing else: a whole simulation is one macrotask of the real world.
 */
import { assert } from '../core/assert.ts';

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

// Node runs a tick that was asked for in a microtask once no microtask is left, and before any other macrotask.
const nextTick = process.nextTick;

export class VirtualTime {
  /** A binary heap, the next event first. */
  readonly #events: Event[] = [];
  #nowMs = 0;
  #order = 0;

  /** Milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): void {
    assert(delayMs >= 0, 'events-lie-ahead', () => `${delayMs} ms`);
    const event = { atMs: this.#nowMs + delayMs, order: this.#order++, run };
    let at = this.#events.length;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = this.#events[parent] as Event;
      if (!precedes(event, above)) break;
      this.#events[at] = above;
      at = parent;
    }
    this.#events[at] = event;
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs the next event and what follows from it at once. False if there is none. */
  async step(): Promise<boolean> {
    const event = this.#pop();
    if (event === null) return false;
    this.#nowMs = event.atMs;
    event.run();
    await new Promise<void>((resolve) => nextTick(resolve));
    return true;
  }

  #pop(): Event | null {
    const events = this.#events;
    const [first] = events;
    const last = events.pop();
    if (first === undefined || last === undefined) return null;
    if (events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      const right = events[child + 1];
      if (right !== undefined && precedes(right, events[child] as Event)) child++;
      const below = events[child] as Event;
      if (!precedes(below, last)) break;
      events[at] = below;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

function precedes(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
