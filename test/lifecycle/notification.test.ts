import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeFact } from '../../src/lifecycle/harness-fact.ts';
import type { FactKind } from '../../src/lifecycle/harness-fact.ts';
import { NOTABLE_STATUSES, notice } from '../../src/lifecycle/notification.ts';
import type { NotableEvent, Notification, Watch } from '../../src/lifecycle/notification.ts';
import { takeStep } from '../../src/lifecycle/run.ts';
import type { LiveRun, Outcome, Run, Step } from '../../src/lifecycle/run.ts';
import { deriveStatus } from '../../src/lifecycle/status.ts';
import { CLAIMED, ENDING, INTENT, OUTCOMES, STEPS } from './samples.ts';

type Data = NotableEvent['data'];

function history(...events: [kind: string, data?: Data, runId?: string | null][]): NotableEvent[] {
  return events.map(([kind, data = {}, runId = 'run-1'], index) => ({
    seq: index + 1,
    atMs: 1_000 * (index + 1),
    sessionId: 'session-1',
    runId,
    kind,
    data,
  }));
}

function readAll(events: readonly NotableEvent[]): { watch: Watch; told: Notification[] } {
  const told: Notification[] = [];
  let watch: Watch = {};
  for (const event of events) {
    const noticed = notice(watch, event);
    watch = noticed.watch;
    if (noticed.notification !== null) told.push(noticed.notification);
  }
  return { watch, told };
}

const keysOf = (...events: Parameters<typeof history>) =>
  readAll(history(...events)).told.map(({ key, status }) => `${key} ${status}`);

const asked: [string, Data] = ['harness.input.needed', { waitingFor: 'permission to use Bash' }];

describe('a budget', () => {
  const figures = { scope: 'session', kind: 'tokens', spent: 1_700_000, limit: 2_000_000 };

  it('is told when it is close, and when a person is asked, in figures alone', () => {
    const events = history(
      ['budget.warned', { ...figures, what: 'a prompt' }],
      ['budget.exceeded', { ...figures, what: 'a prompt' }],
      ['budget.cleared', {}],
    );
    expect(readAll(events).told.map(({ status, what }) => [status, what])).toEqual([
      ['budget', 'It has used 1.7M tokens of the budget of its session of 2.0M tokens.'],
      ['needs-input', 'It has used 1.7M tokens of the budget of its session of 2.0M tokens.'],
    ]);
  });

  it('that makes no sense is told without figures', () => {
    const [told] = readAll(history(['budget.warned', { ...figures, scope: 'a prompt' }])).told;
    expect(told?.what).toBe('It is close to a budget, or over it.');
  });

  it('changes nothing about a run that waits', () => {
    expect(keysOf(asked, ['budget.warned', figures], asked)).toEqual(['1 needs-input', '2 budget']);
  });
});

describe('the end of a run', () => {
  const STATUS_OF: Partial<Record<Outcome, string>> = {
    failed: 'failed',
    never_started: 'failed',
    lost: 'lost',
    over_budget: 'budget',
  };

  it.each(OUTCOMES)(
    'as %s is told when it is a failure, a loss or the limit of a budget, and forgets the run',
    (outcome) => {
      const status = STATUS_OF[outcome];
      expect(keysOf(['run.ended', { outcome }])).toEqual(status === undefined ? [] : [`1 ${status}`]);
      expect(readAll(history(asked, ['run.intended'], ['run.ended', { outcome }])).watch).toEqual({});
    },
  );

  it.each(OUTCOMES)('as %s that was asked for is told only when it is a loss or a limit', (outcome) => {
    const told = outcome === 'lost' ? 'lost' : outcome === 'over_budget' ? 'budget' : null;
    const expected = told === null ? [] : [`2 ${told}`];
    expect(keysOf(['run.intended'], ['run.ended', { outcome }])).toEqual(expected);
  });

  it('is not excused by what somebody wanted of another run', () => {
    expect(keysOf(['run.intended', {}, 'run-0'], ['run.ended', { outcome: 'failed' }])).toEqual(['2 failed']);
  });

  it('is told at the time and with the reason that are on record', () => {
    const data = { ...ENDING, outcome: 'failed', exitCode: 3, endedAtMs: 77 };
    expect(readAll(history(['run.ended', data])).told).toEqual([
      {
        key: 1,
        status: 'failed',
        sessionId: 'session-1',
        runId: 'run-1',
        atMs: 77,
        what: 'It exited with code 3.',
      },
    ]);
  });

  it.each([
    [{ outcome: 'failed', exitCode: null, signal: 'SIGSEGV' }, 'It was killed by SIGSEGV.'],
    [
      { outcome: 'failed', exitCode: null, signal: 'SIGKILL', reason: 'it was killed … (out of memory)' },
      'It was killed by SIGKILL, out of memory.',
    ],
    [
      { outcome: 'failed', exitCode: 0, signal: null, reason: 'it began another conversation' },
      'It did not do what it was asked for, and called that a success.',
    ],
    [{ outcome: 'failed' }, 'It failed.'],
    [{ outcome: 'never_started', reason: 'cannot execute claude -p "prompt"' }, 'It could not be started.'],
    [{ outcome: 'lost', reason: 'its keeper died' }, 'How it ended is not known.'],
  ])('with %j is said in a sentence', (data, what) => {
    expect(readAll(history(['run.ended', data])).told.map((each) => each.what)).toEqual([what]);
  });
});

describe('a run that needs input', () => {
  it('is told once, however often it asks', () => {
    expect(keysOf(asked, asked, asked)).toEqual(['1 needs-input']);
  });

  it('is told again when it asks another question while it waits, and that once too', () => {
    const asks = (tool: string, questionDigest?: string): [string, Data] => [
      'harness.input.needed',
      {
        waitingFor: `permission to use ${tool}`,
        ...(questionDigest === undefined ? {} : { questionDigest }),
      },
    ];
    const events = history(
      asks('Bash', 'a'),
      asks('Bash'),
      asks('Bash', 'b'),
      asks('Bash', 'b'),
      asks('Write', 'c'),
      asks('Bash'),
    );
    expect(readAll(events).told.map(({ key, what }) => [key, what])).toEqual([
      [1, 'It waits for permission to use Bash.'],
      [3, 'It waits for permission to use Bash.'],
      [5, 'It waits for permission to use Write.'],
    ]);
  });

  it('is told once although an earlier Reeve did not remember what it asks', () => {
    const watch: Watch = { 'run-1': { waitingSinceMs: 1, isIntended: false } };
    const [event] = history(asked);
    expect(event === undefined ? null : notice(watch, event).notification).toBeNull();
  });

  it.each(['harness.turn.started', 'harness.work.continued', 'harness.turn.ended', 'harness.session.began'])(
    'is told again after %s',
    (kind) => {
      expect(keysOf(asked, [kind], asked)).toEqual(['1 needs-input', '3 needs-input']);
    },
  );

  it.each([
    'run.claimed',
    'run.started',
    'run.executing',
    'run.intended',
    'run.survivors',
    'run.doubted',
    'write.fenced',
    'hook.fenced',
    'harness.session.identified',
    'harness.session.ended',
    'native.mismatch',
    'native.taken',
    'outsider.ended',
    'message.delivered',
    'message.undelivered',
    'something.new',
  ])('is not told again after %s, which says nothing of its activity', (kind) => {
    expect(keysOf(asked, [kind], asked)).toEqual(['1 needs-input']);
  });

  it('goes on waiting when what is read now happened before it asked', () => {
    const at = (atMs: number) => ({ waitingFor: 'an answer', atMs });
    const needed = 'harness.input.needed';
    expect(keysOf([needed, at(50)], ['harness.turn.started', at(49)], [needed, at(60)])).toEqual([
      '1 needs-input',
    ]);
    expect(keysOf([needed, at(50)], ['harness.turn.started', at(50)], [needed, at(60)])).toEqual([
      '1 needs-input',
      '3 needs-input',
    ]);
  });

  it('is one of several, each told for itself', () => {
    expect(keysOf(asked, [...asked, 'run-2'], asked, [...asked, 'run-2'])).toEqual([
      '1 needs-input',
      '2 needs-input',
    ]);
  });

  it('is told at the time at which it asked, as far as there is such a time', () => {
    const times = [5, 8.64e15 + 1, 'x'].map(
      (atMs) => readAll(history(['harness.input.needed', { atMs }])).told[0]?.atMs,
    );
    expect(times).toEqual([5, 1_000, 1_000]);
  });

  it.each([
    [
      'permission to use mcp__github__create_issue',
      'It waits for permission to use mcp__github__create_issue.',
    ],
    ['Claude needs your permission to use Bash', 'It waits for permission to use Bash.'],
    ['permission to use Bash to delete /home/ada', 'It waits for an answer.'],
    ['Shall I email the password hunter2 to Bob?', 'It waits for an answer.'],
    [`permission to use ${'x'.repeat(81)}`, 'It waits for an answer.'],
    [undefined, 'It waits for an answer.'],
  ])('for %j is told without anything that somebody wrote', (waitingFor, what) => {
    expect(readAll(history(['harness.input.needed', { waitingFor }])).told.map((each) => each.what)).toEqual([
      what,
    ]);
  });
});

it('an event without a run, or of a run named like a property of every object, confuses nothing', () => {
  const names = ['__proto__', 'constructor', 'toString'];
  const events = history(
    ['session.removed', {}, null],
    ...names.map((name): [string, Data, string] => [...asked, name]),
    ...names.map((name): [string, Data, string] => ['run.ended', { outcome: 'failed' }, name]),
  );
  const { watch, told } = readAll(events);
  expect([Object.keys(watch), told.length]).toEqual([[], 6]);
});

describe('any history that the rules can write', () => {
  type Move = { run: number } & ({ step: Step } | { fact: FactKind; atMs: number });

  const facts = fc.constantFrom<FactKind>(
    { kind: 'session.began' },
    { kind: 'session.identified' },
    { kind: 'turn.started', promptDigest: null },
    { kind: 'input.needed', waitingFor: 'permission to use Bash' },
    { kind: 'input.needed', waitingFor: 'permission to use Bash', questionDigest: 'a' },
    { kind: 'input.needed', waitingFor: 'permission to use Bash', questionDigest: 'b' },
    { kind: 'input.needed', waitingFor: 'permission to use Write' },
    { kind: 'input.needed', waitingFor: 'an answer' },
    { kind: 'work.continued' },
    { kind: 'turn.ended' },
    { kind: 'session.ended', reason: 'exit' },
  );
  const end = fc
    .constantFrom(...OUTCOMES)
    .map((outcome): Step => ({ kind: 'end', ending: { ...ENDING, outcome } }));
  const other = fc.constantFrom<Step>(STEPS.start, STEPS.executing, { kind: 'intend', intent: INTENT });
  const run = fc.integer({ min: 0, max: 2 });
  const move: fc.Arbitrary<Move> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ run, fact: facts, atMs: fc.integer({ min: 0, max: 30 }) }) },
    { weight: 2, arbitrary: fc.record({ run, step: other }) },
    { weight: 1, arbitrary: fc.record({ run, step: end }) },
  );

  function carryOut(before: Run, each: Move): { run: Run; event: Omit<NotableEvent, 'seq'> | null } {
    const base = { atMs: 1_000, sessionId: before.sessionId, runId: before.id };
    if ('step' in each) {
      const result = takeStep(before, each.step);
      return result.taken
        ? { run: result.run, event: { ...base, ...result.event } }
        : { run: before, event: null };
    }
    const fact = {
      ...each.fact,
      nativeId: 'native',
      atMs: each.atMs,
      evidence: 'a hook',
      isFromHarness: true,
    };
    const result = takeFact(before, before.id, fact);
    if (result.take === 'fence' || before.state === 'ended') return { run: before, event: null };
    const after: LiveRun = { ...before, native: result.native, activity: result.activity };
    return { run: after, event: result.event === null ? null : { ...base, ...result.event } };
  }

  it('tells as often as the derived status changes to one that is told or another question is asked, less failures that were asked for', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 80 }), (moves) => {
        const runs: Run[] = [0, 1, 2].map((index) => ({
          ...CLAIMED,
          id: `run-${index}`,
          sessionId: `s-${index}`,
        }));
        const events: NotableEvent[] = [];
        const expected: string[] = [];
        for (const each of moves) {
          const before = runs[each.run] ?? CLAIMED;
          const { run: after, event } = carryOut(before, each);
          runs[each.run] = after;
          if (event !== null) events.push({ ...event, seq: events.length + 1 });
          const status = deriveStatus(after, 'alive', null);
          const asksAnother = status === 'needs-input' && after.activity !== before.activity;
          const isNew = status !== deriveStatus(before, 'alive', null) || asksAnother;
          const wasAskedFor = status === 'failed' && after.intent !== null;
          if (isNew && !wasAskedFor && NOTABLE_STATUSES.some((notable) => notable === status)) {
            expected.push(`${events.length} ${after.id} ${status}`);
          }
          if (isNew && after.ending?.outcome === 'over_budget')
            expected.push(`${events.length} ${after.id} budget`);
        }
        const { watch, told } = readAll(events);
        expect(told.map(({ key, runId, status }) => `${key} ${runId} ${status}`)).toEqual(expected);
        const live = new Set(runs.filter(({ state }) => state !== 'ended').map(({ id }) => id));
        expect(Object.keys(watch).filter((id) => !live.has(id))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
