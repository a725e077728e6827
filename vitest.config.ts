import { defineConfig } from 'vitest/config';
import { tagsFor, THIS_MACHINE } from './test/support/needs.ts';
import { SkippedTests } from './test/support/skipped-tests.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    // Processes, not threads: the tests start, signal and count real processes.
    pool: 'forks',
    // Most of their time they wait for processes to start and end, so that two cores have time for a third.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A flaky test is a bug, here perhaps the product's: it is never tried twice.
    retry: 0,
    tags: tagsFor(THIS_MACHINE),
    reporters: ['default', new SkippedTests(THIS_MACHINE)],
  },
});
