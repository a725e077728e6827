import { defineConfig } from 'vitest/config';
import { THIS_MACHINE } from './test/support/needs.ts';
import { SkippedTests } from './test/support/skipped-tests.ts';

/** Against the real harness programs, which scripts/harnesses.mjs installs. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.e2e.ts'],
    pool: 'forks',
    // Each harness takes a core while it starts; side by side they would only make each other late.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    retry: 0,
    reporters: ['default', new SkippedTests(THIS_MACHINE)],
  },
});
