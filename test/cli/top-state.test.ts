/** What `top` does with keys, lists and answers, as a pure machine. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATUSES } from '../../src/lifecycle/status.ts';
import type { Key, KeyName } from '../../src/cli/top/keys.ts';
import { selectedSession, shownSessions, startState } from '../../src/cli/top/model.ts';
import type { Effect, Notice, TopEvent, TopState } from '../../src/cli/top/model.ts';
import { step } from '../../src/cli/top/state.ts';
import { view } from '../../src/cli/top/view.ts';
import { displayWidth } from '../../src/cli/render/width.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

const ASKING = sessionView('asks', 'needs-input');
const WORKING = sessionView('works');
const IDLE = sessionView('idles', 'idle');
const DONE = sessionView('done', 'done');
/** Not in the order in which they are shown. */
const ALL = [DONE, WORKING, IDLE, ASKING];
const SHOWN = ['asks', 'works', 'idles', 'done'];

const NAMED: readonly KeyName[] = [
  'up',
  'down',
  'page-up',
  'page-down',
  'home',
  'end',
  'enter',
  'escape',
  'backspace',
  'ctrl-c',
  'ctrl-l',
  'ctrl-z',
];
const isNamed = (word: string): word is KeyName => NAMED.some((name) => name === word);
const keyOf = (word: string): Key =>
  isNamed(word) ? { is: 'named', name: word } : { is: 'text', text: word };

function after(state: TopState, ...events: readonly TopEvent[]): { state: TopState; effects: Effect[] } {
  const effects: Effect[] = [];
  let now = state;
  for (const event of events) {
    const { state: next, effect } = step(now, event);
    now = next;
    if (effect.do !== 'nothing') effects.push(effect);
  }
  return { state: now, effects };
}

const listed = (sessions = ALL, nowMs = NOW_MS): TopEvent => ({ kind: 'listed', sessions, nowMs });
const open = (sessions = ALL) => after(startState(NOW_MS), listed(sessions)).state;
const press = (state: TopState, ...words: readonly string[]) =>
  after(state, ...words.map((word): TopEvent => ({ kind: 'key', key: keyOf(word) })));
const selected = (state: TopState) => selectedSession(state)?.name ?? null;
const names = (state: TopState) => shownSessions(state).map(({ name }) => name);
const onto = (name: string, sessions = ALL) => ({ ...open(sessions), selectedId: `s-${name}` });

describe('moving', () => {
  it('begins at the first of the screen, not of the list', () => {
    expect(names(open())).toEqual(SHOWN);
    expect(selected(open())).toBe('asks');
  });

  it.each([
    [['j'], 'works'],
    [['down', 'down'], 'idles'],
    [['j', 'k'], 'asks'],
    [['down', 'up'], 'asks'],
    [['k'], 'asks'],
    [['G'], 'done'],
    [['end', 'j'], 'done'],
    [['G', 'g'], 'asks'],
    [['end', 'home'], 'asks'],
    [['page-down'], 'done'],
    [['page-down', 'page-up'], 'asks'],
  ])('%j is at %s', (words, name) => {
    const { state, effects } = press(open(), ...words);
    expect({ at: selected(state), effects }).toEqual({ at: name, effects: [] });
  });

  it('pages by what the screen has room for, and by one at least', () => {
    const many = Array.from({ length: 30 }, (_, index) => sessionView(`n${index}`));
    const paged = (rows: number) =>
      selected(press(after(open(many), { kind: 'resized', rows }).state, 'page-down').state);
    expect([24, 8, 1].map(paged)).toEqual(['n18', 'n2', 'n1']);
  });

  it('follows the session when that moves to another group', () => {
    const moved = ALL.map((session) => (session === WORKING ? sessionView('works', 'failed') : session));
    const { state } = after(onto('works'), listed(moved));
    expect({ at: selected(state), shown: names(state) }).toEqual({
      at: 'works',
      shown: ['asks', 'idles', 'done', 'works'],
    });
  });

  it('is on the one that took its place when the session is gone, and on nothing when all are', () => {
    const without = (name: string) => ALL.filter((session) => session.name !== name);
    expect(selected(after(onto('works'), listed(without('works'))).state)).toBe('idles');
    expect(selected(after(onto('done'), listed(without('done'))).state)).toBe('idles');
    expect(selected(after(onto('works'), listed([])).state)).toBe(null);
    expect(selected(after(onto('works'), listed([]), listed()).state)).toBe('asks');
  });
});

describe('Enter', () => {
  it.each([
    ['tmux', 'join'],
    ['detached', 'follow'],
  ] as const)('on a run %s does: %s', (mode, does) => {
    const session = sessionView('a', 'working', { run: { mode } });
    expect(press(open([session]), 'enter').effects).toEqual([{ do: does, session }]);
  });

  it.each(['foreground', 'adopted'] as const)('on a run %s says why not, and what to do', (mode) => {
    const { state, effects } = press(open([sessionView('a', 'working', { run: { mode } })]), 'enter');
    expect(effects).toEqual([]);
    expect(state.notice).toEqual({
      tone: 'bad',
      text: expect.stringContaining('4711'),
      hint: expect.stringContaining('reeve resume a'),
    });
  });

  it.each(['foreground', 'detached', 'tmux', 'adopted'] as const)(
    'on an ended session, %s, does nothing but say so',
    (mode) => {
      const { state, effects } = press(open([sessionView('a', 'failed', { run: { mode } })]), 'enter');
      expect(effects).toEqual([]);
      expect(state.notice?.text).toContain('a has no live run');
    },
  );
});

describe('stop and resume', () => {
  it.each([
    ['s', 'stop', WORKING, 'stopping works'],
    ['r', 'resume', DONE, 'resuming done'],
  ] as const)('%s asks, and only y does it', (key, action, session, underWay) => {
    const asked = press(onto(session.name), key);
    expect(asked.effects).toEqual([]);
    expect(asked.state.mode).toEqual({ is: 'confirm', action, session });
    for (const word of ['y', 'Y']) {
      const { state, effects } = press(asked.state, word);
      expect(effects).toEqual([{ do: action, session }]);
      expect(state).toMatchObject({ mode: { is: 'list' }, underWay });
    }
    for (const word of ['n', 'N', 'q', 'escape']) {
      const { state, effects } = press(asked.state, word);
      expect({ mode: state.mode, effects }).toEqual({ mode: { is: 'list' }, effects: [] });
    }
    for (const word of ['enter', 's', 'r', 'j', 'x', 'up', 'backspace', '/', '?', ' ']) {
      const { state, effects } = press(asked.state, word);
      expect({ mode: state.mode, effects }).toEqual({ mode: asked.state.mode, effects: [] });
    }
  });

  it.each([
    ['s', DONE, 'nothing to stop'],
    ['r', WORKING, 'works is live'],
    ['r', ASKING, 'asks is live'],
  ] as const)('%s is not offered where it makes no sense', (key, session, says) => {
    const { state, effects } = press(onto(session.name), key);
    expect({ mode: state.mode, effects }).toEqual({ mode: { is: 'list' }, effects: [] });
    expect(state.notice).toMatchObject({ tone: 'bad', text: expect.stringContaining(says) });
  });

  it.each(['s', 'r', 'enter'])('%s without any session says so', (key) => {
    const { state, effects } = press(open([]), key);
    expect({ mode: state.mode, effects }).toEqual({ mode: { is: 'list' }, effects: [] });
    expect(state.notice?.tone).toBe('bad');
  });

  it('one at a time: while it is under way nothing else is begun, but one can move', () => {
    const busy = press(onto('works'), 's', 'y').state;
    for (const key of ['s', 'r', 'enter']) {
      const { state, effects } = press(busy, key);
      expect({ mode: state.mode, effects, busy: state.underWay }).toEqual({
        mode: { is: 'list' },
        effects: [],
        busy: 'stopping works',
      });
      expect(state.notice?.text).toContain('stopping works');
    }
    expect(selected(press(busy, 'j').state)).toBe('idles');
  });

  it('what came of it is said until the next key, an error with its hint', () => {
    const notice: Notice = { tone: 'bad', text: 'It has a live owner.', hint: 'Join it.' };
    const busy = press(onto('works'), 's', 'y').state;
    const told = after(busy, { kind: 'acted', notice }, listed()).state;
    expect({ notice: told.notice, busy: told.underWay }).toEqual({ notice, busy: null });
    expect(press(told, 'j').state.notice).toBe(null);
  });

  it.each([
    ['has another run', [sessionView('works', 'working', { run: { id: 'r-other' } })]],
    ['has ended', [sessionView('works', 'done')]],
    ['is not there any more', []],
  ])('the question is withdrawn when the session %s, so a late y does nothing', (_, sessions) => {
    const asked = press(onto('works'), 's').state;
    const { state } = after(asked, listed(sessions));
    expect(state.mode).toEqual({ is: 'list' });
    expect(state.notice).toMatchObject({ tone: 'bad', text: expect.stringContaining('works') });
    expect(press(state, 'y').effects).toEqual([]);
  });

  it('the question stays while the run is the same, whatever else changes', () => {
    const asked = press(onto('works'), 's').state;
    const sessions = [sessionView('works', 'idle'), sessionView('new')];
    expect(after(asked, listed(sessions)).state.mode).toEqual(asked.mode);
  });
});

describe('searching', () => {
  const web = sessionView('web', 'working', { argv: ['claude'], cwd: '/src/front', nativeId: 'abc-1' });
  const api = sessionView('api', 'failed', { argv: ['sh', '-c', 'make Test'] });
  const found = (...words: string[]) => names(press(open([web, api]), '/', ...words).state);

  it('narrows with every letter, in any case, in names, commands, directories, ids and status', () => {
    expect(found()).toEqual(['web', 'api']);
    expect(found(...'WEB')).toEqual(['web']);
    expect(found(...'make t')).toEqual(['api']);
    expect(found(...'front')).toEqual(['web']);
    expect(found(...'abc-')).toEqual(['web']);
    expect(found(...'failed')).toEqual(['api']);
    expect(found(...'r-api')).toEqual(['api']);
    expect(found(...'test api')).toEqual(['api']);
    expect(found(...'nowhere')).toEqual([]);
  });

  it('finds letters with marks however they are written', () => {
    const state = open([sessionView('e\u0301te\u0301'), sessionView('other')]);
    expect(names(press(state, '/', 'É').state)).toEqual(['e\u0301te\u0301']);
  });

  it('keys that do something elsewhere are letters here', () => {
    const { state, effects } = press(open(), '/', ...'qsrjk?/gG');
    expect({ filter: state.filter, mode: state.mode, effects }).toEqual({
      filter: 'qsrjk?/gG',
      mode: { is: 'search' },
      effects: [],
    });
  });

  it('Enter keeps it, and the keys are keys again; Escape then clears it', () => {
    const kept = press(open([web, api]), '/', ...'api', 'enter').state;
    expect({ mode: kept.mode, shown: names(kept) }).toEqual({ mode: { is: 'list' }, shown: ['api'] });
    expect(press(kept, 'r').state.mode).toMatchObject({ is: 'confirm', action: 'resume' });
    expect(names(press(kept, 'escape').state)).toEqual(['web', 'api']);
  });

  it('Escape clears it, Backspace takes the last letter back, and on nothing leaves', () => {
    const typed = press(open([web, api]), '/', 'a', '\u{1F600}').state;
    expect(press(typed, 'backspace').state.filter).toBe('a');
    expect(press(typed, 'escape').state).toMatchObject({ filter: '', mode: { is: 'list' } });
    const emptied = press(typed, 'backspace', 'backspace');
    expect(emptied.state).toMatchObject({ filter: '', mode: { is: 'search' } });
    expect(press(emptied.state, 'backspace').state.mode).toEqual({ is: 'list' });
  });

  it('selects the first that is found, unless the selected one is among them', () => {
    const sessions = ['a1', 'b1', 'b2', 'a2'].map((name) => sessionView(name));
    expect(selected(press(onto('a2', sessions), '/', 'b').state)).toBe('b1');
    expect(selected(press(onto('b2', sessions), '/', 'b').state)).toBe('b2');
    expect(selected(press(onto('a1', sessions), '/', 'b', 'down').state)).toBe('b2');
  });

  it('takes no more letters than anybody types', () => {
    expect(press(open(), '/', ...'x'.repeat(300)).state.filter).toBe('x'.repeat(100));
  });
});

describe('everywhere', () => {
  const modes: readonly (readonly [string, TopState])[] = [
    ['list', onto('works')],
    ['search', press(onto('works'), '/', 'w').state],
    ['help', press(onto('works'), '?').state],
    ['confirm', press(onto('works'), 's').state],
  ];

  it.each(modes)('in %s, Ctrl-C quits, Ctrl-Z suspends, Ctrl-L draws anew', (_, state) => {
    expect(press(state, 'ctrl-c').effects).toEqual([{ do: 'quit' }]);
    expect(press(state, 'ctrl-z')).toEqual({ state, effects: [{ do: 'suspend' }] });
    expect(press(state, 'ctrl-l')).toEqual({ state, effects: [{ do: 'redraw' }] });
  });

  it('q quits from the list; help ends with any key', () => {
    expect(press(open(), 'q').effects).toEqual([{ do: 'quit' }]);
    for (const key of ['q', '?', 'escape', 'enter', 's', 'x']) {
      const { state, effects } = press(open(), '?', key);
      expect({ mode: state.mode, effects }).toEqual({ mode: { is: 'list' }, effects: [] });
    }
  });

  it('a look that failed leaves the last list and its time; the next one that works takes the problem away', () => {
    const problem: Notice = { tone: 'bad', text: 'The store is away.', hint: null };
    const failed = after(
      open(),
      { kind: 'asked', nowMs: NOW_MS + 1 },
      { kind: 'list-failed', problem, nowMs: NOW_MS + 2 },
    );
    expect(failed.state).toMatchObject({
      problem,
      listedAtMs: NOW_MS,
      askedAtMs: null,
      sessions: ALL,
      nowMs: NOW_MS + 2,
    });
    expect(after(failed.state, listed(ALL, NOW_MS + 9)).state).toMatchObject({
      problem: null,
      listedAtMs: NOW_MS + 9,
    });
  });

  it('an answer is awaited since the first question, not the latest', () => {
    const asked = after(open(), { kind: 'asked', nowMs: 1 }, { kind: 'asked', nowMs: 2 });
    expect(asked.state).toMatchObject({ askedAtMs: 1, nowMs: 2 });
    expect(after(asked.state, { kind: 'tick', nowMs: 3 }).state).toMatchObject({ askedAtMs: 1, nowMs: 3 });
    expect(after(asked.state, listed()).state.askedAtMs).toBe(null);
  });

  it('coming back says how it went', () => {
    const notice: Notice = { tone: 'good', text: 'works goes on.', hint: null };
    expect(after(open(), { kind: 'came-back', notice, nowMs: 5 }).state).toMatchObject({ notice, nowMs: 5 });
  });
});

describe('whatever happens', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 50 }),
    fc.constantFrom(
      '\u001B[2J',
      '한국어'.repeat(9),
      'e\u0301'.repeat(40),
      '👩‍👩‍👧‍👦🇩🇪1️⃣',
      '\u202Etxt.exe',
      '\t\r\n\u0007',
    ),
  );
  const session = fc
    .record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      status: fc.constantFrom(...STATUSES),
      mode: fc.constantFrom('foreground', 'detached', 'tmux', 'adopted'),
      words: text,
      waitingFor: fc.option(text),
      runId: fc.constantFrom('r-1', 'r-2'),
    })
    .map(({ name, status, mode, words, waitingFor, runId }) =>
      sessionView(name, status, {
        // Names are checked when they are made; the rest is whatever the world is.
        name: `${name}${words}`,
        cwd: `/${words}`,
        argv: [words],
        activity: { since: new Date(NOW_MS).toISOString(), evidence: words, waitingFor },
        run: { id: runId, mode },
      }),
    );
  const sessions = fc.uniqueArray(session, { selector: ({ id }) => id, maxLength: 5 });
  const notice = fc.record({
    tone: fc.constantFrom('good', 'bad'),
    text,
    hint: fc.option(text),
  });
  const event: fc.Arbitrary<TopEvent> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .constantFrom(...NAMED, ...'jkgGsryYnN/?q x')
        .map((word): TopEvent => ({ kind: 'key', key: keyOf(word) })),
    },
    { weight: 2, arbitrary: sessions.map((all): TopEvent => listed(all)) },
    fc.record({ kind: fc.constant('tick'), nowMs: fc.integer({ min: 0, max: 2 * NOW_MS }) }),
    fc.record({ kind: fc.constant('asked'), nowMs: fc.constant(NOW_MS - 60_000) }),
    fc.record({ kind: fc.constant('list-failed'), problem: notice, nowMs: fc.constant(NOW_MS) }),
    fc.record({ kind: fc.constant('came-back'), notice, nowMs: fc.constant(NOW_MS) }),
    fc.record({ kind: fc.constant('acted'), notice }),
    fc.record({ kind: fc.constant('resized'), rows: fc.integer({ min: 0, max: 60 }) }),
  );
  // oxlint-disable-next-line no-control-regex -- what must not be printed
  const CONTROL = /[\u0000-\u001F\u007F-\u009F\u202E]/;

  it('the selection is one of the shown, an act is on what was confirmed, and every line fits its screen', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 40 }),
        fc.integer({ min: 1, max: 130 }),
        fc.integer({ min: 1, max: 30 }),
        (events, columns, rows) => {
          let state = startState(NOW_MS);
          for (const each of events) {
            const { mode } = state;
            const { state: next, effect } = step(state, each);
            if (effect.do === 'stop' || effect.do === 'resume') {
              expect(mode).toEqual({ is: 'confirm', action: effect.do, session: effect.session });
            }
            state = next;
            const shown = shownSessions(state);
            expect(shown.length === 0 ? null : state.selectedId).toBe(selectedSession(state)?.id ?? null);
            expect(shown.length > 0).toBe(selectedSession(state) !== null);
            const lines = view(state, { columns, rows });
            expect(lines).toHaveLength(rows);
            for (const line of lines) {
              expect(line).not.toMatch(CONTROL);
              expect(displayWidth(line)).toBeLessThanOrEqual(columns);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
