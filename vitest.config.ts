import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { tagsFor, THIS_MACHINE } from './test/support/needs.ts';
import { SkippedTests } from './test/support/skipped-tests.ts';

/** They wait for processes to start and end, so that a core has time for a second one. A third one gains nothing. */
const WORKERS_A_CORE = 2;
/** Beyond that they wait for the disk, and for PostgreSQL servers and browsers of each other. */
const MOST_WORKERS = 8;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    // Processes, not threads: the tests start, signal and count real processes.
    pool: 'forks',
    maxWorkers: Math.min(MOST_WORKERS, WORKERS_A_CORE * availableParallelism()),
    testTimeout: 60_000,
    // They remove what a server of two hundred databases has written, on a disk that others use too.
    hookTimeout: 120_000,
    // A flaky test is a bug, here perhaps the product's: it is never tried twice.
    retry: 0,
    tags: tagsFor(THIS_MACHINE),
    reporters: ['default', new SkippedTests(THIS_MACHINE)],
  },
});
