import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const alias = { tidemark: fileURLToPath(new URL('./core/definition/index.ts', import.meta.url)) };

const project = (name: string, testTimeout: number) => ({
  resolve: { alias },
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout },
});

export default defineConfig({
  test: {
    projects: [
      project('unit', 10_000),
      project('property', 60_000),
      project('contract', 30_000),
      project('e2e', 120_000),
      project('arch', 60_000),
    ],
  },
});
