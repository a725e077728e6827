/** Children, what they cost, and the reviews, on the screen of `top`. */
import { describe, expect, it } from 'vitest';
import type { BudgetView } from '../../src/api/http-views.ts';
import { renderSessions } from '../../src/cli/render/sessions.ts';
import type { ListedSession } from '../../src/cli/render/sessions.ts';
import { displayWidth } from '../../src/cli/render/width.ts';
import { startState } from '../../src/cli/top/model.ts';
import type { TopState } from '../../src/cli/top/model.ts';
import { PlainList } from '../../src/cli/top/plain.ts';
import { step } from '../../src/cli/top/state.ts';
import { view } from '../../src/cli/top/view.ts';
import { reviewView } from '../fixtures/review-views.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

const WARN: BudgetView = {
  scope: 'session',
  kind: 'tokens',
  spent: 1_690_000,
  limit: 2_000_000,
  fraction: 0.845,
  state: 'warn',
};
const OVER: BudgetView = { ...WARN, scope: 'tree', spent: 2_080_000, fraction: 1.04, state: 'over' };
const WITHIN: BudgetView = { ...WARN, kind: 'minutes', spent: 12, limit: 60, fraction: 0.2, state: 'within' };

const LEAD: ListedSession = { ...sessionView('lead'), tokens: 1_690_000, budgets: [WITHIN, WARN] };
const REVIEW: ListedSession = {
  ...sessionView('review', 'idle', { run: { parent: 'r-lead', owner: 'r-lead' } }),
  tokens: 240_000,
  budgets: [OVER],
};
const LINT: ListedSession = {
  ...sessionView('lint', 'working', { run: { parent: 'r-review', owner: 'r-review' } }),
  tokens: null,
  budgets: [],
};

const open = (...sessions: readonly ListedSession[]): TopState =>
  step(startState(NOW_MS), { kind: 'listed', sessions, nowMs: NOW_MS }).state;
const screen = (state: TopState, columns = 110, rows = 24) =>
  view(state, { columns, rows })
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
const press = (state: TopState, ...texts: readonly string[]) =>
  texts.reduce((now, text) => step(now, { kind: 'key', key: { is: 'text', text } }).state, state);

describe('children', () => {
  it('stand below what they belong to, with tokens and budgets in columns of their own', () => {
    expect(screen(open(LINT, REVIEW, LEAD)).slice(1, -1)).toEqual([
      '     SESSION   STATUS   FOR  TOKENS  BUDGET              HARNESS  PID   COMMAND   DIRECTORY',
      'Working 3',
      '> ●  lead      working  1m   1.69M   ██████░░ 84% warn   -        4711  sleep 60  /src/lead',
      '  ○  └ review  idle     1m   240k    ████████ 104% over  -        4711  sleep 60  /src/review',
      '  ●    └ lint  working  1m   -       -                   -        4711  sleep 60  /src/lint',
      '12 of 60 min, session · 1.69M of 2M tokens, session · run r-lead · detached · started 1m ago by ada · /src/le…',
    ]);
  });

  it('are moved to in the order in which they stand, and found by a search without their parents', () => {
    const state = open(LINT, REVIEW, LEAD);
    expect(press(state, 'j').selectedId).toBe('s-review');
    expect(press(state, 'j', 'j').selectedId).toBe('s-lint');
    const found = press(state, '/', 'l', 'i', 'n', 't');
    expect(screen(found)[3]).toMatch(/^> ● {2}lint /);
  });

  it('stand no further in than there is room for names', () => {
    const line = Array.from({ length: 8 }, (_, index) =>
      sessionView(`n${index}`, 'working', { run: { owner: index === 0 ? null : `r-n${index - 1}` } }),
    );
    expect(screen(open(...line)).slice(7, 11)).toEqual([
      expect.stringMatching(/^ {2}● {8}└ n4 /),
      expect.stringMatching(/^ {2}● {10}└ n5 /),
      expect.stringMatching(/^ {2}● {10}└ n6 /),
      expect.stringMatching(/^ {2}● {10}└ n7 /),
    ]);
  });

  it('count as what they are in the totals', () => {
    expect(screen(open(LINT, REVIEW, LEAD))[0]).toMatch(
      /^reeve top {3}0 need you · 2 working · 1 idle · 0 ended/,
    );
  });

  it('stand so in the list of `ls` too, where nothing is known of costs', () => {
    const { tokens: _tokens, budgets: _budgets, ...lead } = LEAD;
    const text = renderSessions(
      [sessionView('review', 'idle', { run: { owner: 'r-lead' } }), lead],
      NOW_MS,
      100,
    );
    expect(text.split('\n').map((line) => line.slice(0, 40).trimEnd())).toEqual([
      '   SESSION   STATUS   FOR  HARNESS  PID',
      'Working',
      '●  lead      working  1m   -        4711',
      '○  └ review  idle     1m   -        4711',
    ]);
  });

  it('what one waits for stands below it, further in', () => {
    const activity = { since: new Date(NOW_MS).toISOString(), evidence: 'a hook', waitingFor: 'a word' };
    const lead = sessionView('lead', 'needs-input', { activity });
    const asking = sessionView('asking', 'needs-input', { activity, run: { owner: 'r-lead' } });
    expect(screen(open(lead, asking)).slice(3, 7)).toEqual([
      expect.stringMatching(/^> ▲ {2}lead /),
      '     └ a word',
      expect.stringMatching(/^ {2}▲ {2}└ asking /),
      '       └ a word',
    ]);
  });
});

it('no line is wider than the screen, and what does not fit is left out whole, what it costs last', () => {
  const state = open(LEAD, REVIEW, LINT);
  for (let columns = 1; columns <= 130; columns += 1) {
    const lines = view(state, { columns, rows: 12 });
    expect(lines).toHaveLength(12);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  }
  expect(screen(state, 70)[1]).toBe('     SESSION   STATUS   FOR  TOKENS  BUDGET              HARNESS  PID');
  expect(screen(state, 50)[1]).toBe('     SESSION   STATUS   FOR  TOKENS');
});

it('without a screen, growing figures alone are no news, but a budget that runs out is', () => {
  const list = new PlainList();
  expect(list.listed([LEAD], NOW_MS, 100)).toContain('1.69M');
  expect(list.listed([{ ...LEAD, tokens: 1_700_000 }], NOW_MS, 100)).toBeNull();
  const over: BudgetView = { ...WARN, spent: 4_000_000, fraction: 2, state: 'over' };
  expect(list.listed([{ ...LEAD, budgets: [WITHIN, over] }], NOW_MS, 100)).toContain(
    '  ████████ 200% over  ',
  );
});

describe('the reviews', () => {
  const REVIEWS = [
    reviewView('1', {
      pr: 'web/12',
      status: 'superseded',
      isCurrent: false,
      tokens: 410_000,
      reason: 'a newer head',
    }),
    reviewView('2', { pr: 'web/12', status: 'running', tokens: 52_000 }),
    reviewView('3', { pr: 'web/14', status: 'up-to-date', verdict: 'approve' }),
    reviewView('4', {
      worker: 'api',
      workerId: 's-api',
      pr: 'api/7',
      status: 'failed',
      reason: 'it exited with code 3',
      reviewer: null,
    }),
  ];
  const waiting = () =>
    step(startState(NOW_MS, { is: 'unasked' }), { kind: 'listed', sessions: [LEAD], nowMs: NOW_MS }).state;
  const listed = (reviews = REVIEWS) =>
    step(press(waiting(), 'v'), { kind: 'reviews-listed', reviews }).state;

  it('are asked for when somebody wants to see them, and stand by worker and pull request', () => {
    const asked = step(waiting(), { kind: 'key', key: { is: 'text', text: 'v' } });
    expect(asked.effect).toEqual({ do: 'look' });
    expect(screen(asked.state).slice(1)).toEqual(['  Looking…', 'j/k move   v sessions   q quit']);
    expect(screen(listed()).slice(1)).toEqual([
      'api',
      '  ✗  api/7     4a9c3e5f74  failed                10m  -            -',
      '     └ it exited with code 3',
      'web',
      '  ●  web/12    2a9c3e5f72  running               10m  52k tokens   review-web',
      '  ↷  └ web/12  1a9c3e5f71  superseded            10m  410k tokens  review-web',
      '  ✓  web/14    3a9c3e5f73  up-to-date (approve)  10m  -            review-web',
      'j/k move   v sessions   q quit',
    ]);
  });

  it('say how to begin where there are none', () => {
    expect(screen(listed([]))[1]).toContain('reeve review trigger --worker SESSION --pr KEY=HEADSHA');
  });

  it('are left by v and by Escape; q quits', () => {
    expect(press(listed(), 'v').mode).toEqual({ is: 'list' });
    const escape = step(listed(), { kind: 'key', key: { is: 'named', name: 'escape' } });
    expect(escape.state.mode).toEqual({ is: 'list' });
    expect(step(listed(), { kind: 'key', key: { is: 'text', text: 'q' } }).effect).toEqual({ do: 'quit' });
    expect(press(listed(), 's', 'r').mode).toEqual({ is: 'reviews', from: 0 });
  });

  it('are moved through line by line, and no further than to their end', () => {
    const rows = 6;
    const first = (state: TopState) => view(state, { columns: 100, rows })[1]?.trimEnd();
    expect(first(listed())).toBe('');
    expect(first(press(listed(), 'j'))).toBe('api');
    expect(first(press(listed(), 'j', 'k'))).toBe('');
    const end = press(listed(), 'G');
    expect(view(end, { columns: 100, rows })[4]).toContain('web/14');
    expect(first(press(end, 'g'))).toBe('');
    // Back from the end with as many keys as there are lines, and no more.
    expect(first(press(end, ...Array.from({ length: 9 }, () => 'k')))).toBe('');
  });

  it('fit every width', () => {
    for (let columns = 1; columns <= 100; columns += 1) {
      const lines = view(listed(), { columns, rows: 10 });
      expect(lines).toHaveLength(10);
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  it('are told of in keys and help where there is somebody to ask, and nowhere else', () => {
    expect(screen(waiting()).at(-1)).toBe(
      'Enter attach   s stop   r resume   / search   j/k move   v reviews   ? help   q quit',
    );
    expect(screen(press(waiting(), '?')).join('\n')).toContain('v         the reviews, and back');
    expect(screen(open(LEAD)).at(-1)).not.toContain('reviews');
    expect(screen(press(open(LEAD), '?')).join('\n')).not.toContain('reviews');
    expect(press(open(LEAD), 'v').mode).toEqual({ is: 'list' });
  });
});
