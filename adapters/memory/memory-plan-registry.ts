/**
 * The activations of plans in memory.
 */
import type { ActivePlan, PlanRegistry } from '../../core/ports.ts';

export class MemoryPlanRegistry implements PlanRegistry {
  #active: ActivePlan | null = null;

  async active(): Promise<ActivePlan | null> {
    return this.#active === null ? null : { ...this.#active };
  }

  async activate(plan: ActivePlan): Promise<'applied' | 'refused'> {
    if (plan.ordinal !== (this.#active?.ordinal ?? 0) + 1) return 'refused';
    this.#active = { ...plan };
    return 'applied';
  }
}
