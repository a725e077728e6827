import { describe, expect, test } from 'vitest';
import { nextStep } from '../../src/lifecycle/next-step.ts';
import { NOTABLE_STATUSES } from '../../src/lifecycle/notification.ts';
import type { NotableStatus, Notification } from '../../src/lifecycle/notification.ts';
import type { RunMode } from '../../src/lifecycle/run.ts';
import type { BudgetFigures } from '../../src/lifecycle/session-budget.ts';

const MODES: readonly RunMode[] = ['foreground', 'detached', 'tmux', 'adopted'];

function told(status: NotableStatus, more: Partial<Notification> = {}): Notification {
  return { key: 1, status, sessionId: 's-1', runId: 'r-1', atMs: 1, what: 'What.', ...more };
}

const web = (mode: RunMode, isLive = true) => ({ name: 'web', run: { mode, isLive } });
const GONE = { name: 'web', run: null };

describe('what to do next', () => {
  test.each<[RunMode, string]>([
    ['tmux', 'Answer: reeve attach web'],
    ['foreground', 'Answer in the terminal that it runs in.'],
    ['adopted', 'Answer in the terminal that it runs in.'],
    ['detached', 'Take it over in tmux to answer: reeve resume web --tmux --on-live retire'],
  ])('about a question in mode %s is what really answers it', (mode, next) => {
    expect(nextStep(told('needs-input'), web(mode))).toBe(next);
    expect(nextStep(told('needs-input'), web(mode, false))).toBe('Look: reeve why web');
  });

  test.each<[RunMode, string]>([
    ['tmux', 'Go on: reeve attach web'],
    ['foreground', 'Go on in the terminal that it runs in.'],
    ['adopted', 'Go on in the terminal that it runs in.'],
    ['detached', 'Look: reeve logs web'],
  ])('after a turn in mode %s is how to go on', (mode, next) => {
    expect(nextStep(told('idle'), web(mode))).toBe(next);
    expect(nextStep(told('idle'), web(mode, false))).toBe('Look: reeve show web');
  });

  test('about an end is to look', () => {
    const steps = (['failed', 'lost', 'ended', 'done'] as const).map((status) =>
      nextStep(told(status), web('tmux', false)),
    );
    expect(steps).toEqual([...Array<string>(3).fill('Look: reeve why web'), 'Look: reeve show web']);
    expect(nextStep(told('done'), web('detached', false))).toBe('Look: reeve logs web');
  });

  const of = (scope: BudgetFigures['scope'], kind: BudgetFigures['kind']): Partial<Notification> => ({
    budget: { scope, kind, spent: 9, limit: 10 },
  });

  test.each<[BudgetFigures['scope'], BudgetFigures['kind'], string, string]>([
    [
      'session',
      'tokens',
      'Raise it: reeve budget set web --max-tokens MORE',
      'Raise it and go on: reeve resume web --max-tokens MORE',
    ],
    [
      'session',
      'cost',
      'Raise it: reeve budget set web --max-cost MORE',
      'Raise it and go on: reeve resume web --max-cost MORE',
    ],
    [
      'session',
      'minutes',
      'Raise it: reeve budget set web --max-minutes MORE',
      'Raise it and go on: reeve resume web --max-minutes MORE',
    ],
    ...(['run', 'tree', 'day'] as const).map(
      (scope): [BudgetFigures['scope'], BudgetFigures['kind'], string, string] => [
        scope,
        'tokens',
        `Raise budget.${scope} in config.toml, or: reeve stop web`,
        `Raise budget.${scope} in config.toml, then go on: reeve resume web`,
      ],
    ),
  ])('about the budget of a %s in %s is to raise it where it is set', (scope, kind, live, over) => {
    for (const status of ['budget', 'needs-input'] as const) {
      expect(nextStep(told(status, of(scope, kind)), web('detached'))).toBe(live);
      expect(nextStep(told(status, of(scope, kind)), GONE)).toBe(over);
    }
  });

  test('about a budget without figures, a review, or a forgotten session is where more is known', () => {
    expect([
      nextStep(told('budget'), web('tmux')),
      nextStep(told('review', { review: 'v-1' }), GONE),
      nextStep(told('failed'), null),
    ]).toEqual(['Look: reeve budget web', 'Read it: reeve review show v-1', 'See what there is: reeve ls']);
  });

  test('is one sentence or command for everything that can be told', () => {
    for (const status of NOTABLE_STATUSES)
      for (const session of [null, GONE, ...MODES.flatMap((mode) => [web(mode), web(mode, false)])])
        expect(nextStep(told(status), session)).toMatch(/^[A-Z][^:]*(: reeve \w+.*|\.)$/);
  });
});
