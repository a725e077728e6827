/** Worlds for the page's tests: none, ten and hundreds of sessions, and those whose pages are looked at. */
import type { Status } from '../../src/lifecycle/status.ts';
import { DAY_MS, FakeWorld, HOUR_MS, MINUTE_MS } from './fake-world.ts';
import type { RunPlan } from './fake-world.ts';

export function emptyWorld(nowMs = Date.now()): FakeWorld {
  return new FakeWorld(nowMs);
}

/** One of every status, several harnesses, every kind of output. */
export function tenSessions(nowMs = Date.now()): FakeWorld {
  const world = new FakeWorld(nowMs);
  world.add({
    name: 'checkout-claude',
    status: 'needs-input',
    waitingFor: 'permission to use Bash: npm publish --dry-run',
    mode: 'tmux',
    branch: 'feature/checkout-v2',
    screen: colouredScreen(),
  });
  world.add({
    name: 'billing-codex',
    status: 'unknown',
    harness: 'codex',
    doubt: 'its host devbox-2 has not been heard of',
    host: 'devbox-2/ba9876543210',
  });
  world.add({
    name: 'web-claude',
    status: 'working',
    cwd: '/home/alice/work/clients/northwind/platform/apps/web',
    branch: 'fix/login-test',
    argv: ['claude', '-p', 'fix the login test'],
    log: 'reading test/login.test.ts\n\u001B[32m✓\u001B[39m 12 passed\nprogress 10%\rprogress 100%\n',
    runs: threeRuns(nowMs),
  });
  world.add({ name: 'api-codex', status: 'working', harness: 'codex', argv: ['codex', 'exec', 'review'] });
  world.add({
    name: 'bench-loop',
    status: 'working',
    harness: 'command',
    argv: ['make', 'bench', 'REPEAT=100'],
    branch: null,
  });
  world.add({ name: 'docs-gemini', status: 'idle', harness: 'gemini', mode: 'tmux', screen: 'ready\n> ' });
  world.add({ name: 'infra-opencode', status: 'idle', harness: 'opencode', branch: 'release/2026.11' });
  world.add({ name: 'mail-claude', status: 'done', log: 'all tests pass\n' });
  world.add({ name: 'search-claude', status: 'failed' });
  world.add({ name: 'old-claude', status: 'superseded' });
  return world;
}

const CYCLE: readonly Status[] = [
  'done',
  'done',
  'working',
  'failed',
  'idle',
  'stopped',
  'done',
  'superseded',
  'needs-input',
  'lost',
];

export function manySessions(count: number, nowMs = Date.now()): FakeWorld {
  const world = new FakeWorld(nowMs);
  for (let number = 1; number <= count; number += 1) {
    const status = CYCLE[number % CYCLE.length] ?? 'done';
    world.add({
      name: `job-${String(number).padStart(3, '0')}`,
      status,
      harness: ['claude', 'codex', 'gemini'][number % 3] ?? 'claude',
      ...(status === 'needs-input' ? { waitingFor: 'an answer' } : {}),
    });
  }
  return world;
}

/** Completed, taken over, and alive: with a pause and a hand-over between. */
function threeRuns(nowMs: number): readonly RunPlan[] {
  return [
    {
      actor: 'alice',
      startMs: nowMs - 5 * HOUR_MS,
      endMs: nowMs - 3.6 * HOUR_MS,
      outcome: 'completed',
    },
    {
      actor: 'alice',
      startMs: nowMs - 3 * HOUR_MS,
      endMs: nowMs - 1.2 * HOUR_MS,
      outcome: 'superseded',
      reason: 'bob asked to take the session over',
    },
    { actor: 'bob', startMs: nowMs - 1.2 * HOUR_MS + 900, endMs: null, outcome: null },
  ];
}

/** Forty, from a second to three days, ended in every way. */
export function fortyRuns(nowMs: number): readonly RunPlan[] {
  const outcomes = ['completed', 'failed', 'superseded', 'stopped', 'lost', 'never_started'] as const;
  const lengths = [1000, 3 * DAY_MS, 20 * MINUTE_MS, 2 * HOUR_MS, 45_000] as const;
  const plans: RunPlan[] = [];
  let startMs = nowMs - 60 * DAY_MS;
  for (let index = 0; index < 39; index += 1) {
    const outcome = outcomes[index % outcomes.length] ?? 'completed';
    const endMs = startMs + (lengths[index % lengths.length] ?? 1000);
    plans.push({ actor: index % 2 === 0 ? 'alice' : 'ci-runner', startMs, endMs, outcome });
    startMs = endMs + (outcome === 'superseded' ? 500 : (index % 4) * HOUR_MS);
  }
  return [...plans, { actor: 'alice', startMs: nowMs - 10 * MINUTE_MS, endMs: null, outcome: null }];
}

/** As tmux gives it: sixteen colours, 256, and any; wide characters; a frame. */
function colouredScreen(): string {
  return [
    '\u001B[38;2;215;119;87m╭─────────────────────────────────────────────────────╮\u001B[39m',
    '\u001B[38;2;215;119;87m│\u001B[39m \u001B[1m✻ Welcome back, alice\u001B[22m                               \u001B[38;2;215;119;87m│\u001B[39m',
    '\u001B[38;2;215;119;87m╰─────────────────────────────────────────────────────╯\u001B[39m',
    '',
    '\u001B[32m●\u001B[39m \u001B[1mBash\u001B[22m(npm test -- checkout)',
    '  \u001B[38;5;246m⎿  Test Files  4 passed (4)\u001B[39m',
    '     \u001B[31m1 failed\u001B[39m  \u001B[33m2 skipped\u001B[39m  \u001B[36m11 passed\u001B[39m  日本語 ✓',
    '',
    '\u001B[7m Do you want to run npm publish --dry-run? \u001B[27m',
    '\u001B[34m❯ 1. Yes\u001B[39m',
    '  2. No, and tell Claude what to do differently',
  ].join('\n');
}
