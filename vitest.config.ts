import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const alias = {
  'tidemark/testing': fileURLToPath(new URL('./testing/index.ts', import.meta.url)),
  tidemark: fileURLToPath(new URL('./core/definition/index.ts', import.meta.url)),
};

interface ProjectOptions {
  /** Projects of a later group start when the earlier ones are done, so that they have the machine to themselves. */
  readonly groupOrder?: number;
  /**
   * Otherwise the files of one worker share the modules that they import, each of which is loaded once: no test may mock one.
   */
  readonly isolate?: boolean;
}

const project = (name: string, timeoutMs: number, options: ProjectOptions = {}) => ({
  resolve: { alias },
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    // What is waited for comes soon, and later on a machine that is busy: only that it comes is a test.
    expect: { poll: { timeout: timeoutMs / 2 } },
    sequence: { groupOrder: options.groupOrder ?? 0 },
    isolate: options.isolate ?? true,
    restoreMocks: true,
    maxConcurrency: 2,
  },
});

/** `npm run thorough`: what takes minutes, and need not run where its subject has not changed. */
const isThorough = process.env['TIDEMARK_THOROUGH'] === '1';

export default defineConfig({
  test: {
    // Vitest alone would leave one core of two idle.
    maxWorkers: availableParallelism(),
    globalSetup: ['./test/compile-cache.ts'],
    projects: [
      project('unit', 60_000, { isolate: false }),
      project('arch', 60_000),
      project('property', 300_000),
      project('contract', 60_000),
      project('infra', 120_000, { groupOrder: 2, isolate: false }),
      project('sim', 120_000),
      ...(isThorough ? [project('schedules', 900_000)] : []),
      project('e2e', 120_000, { groupOrder: 3 }),
    ],
  },
});
