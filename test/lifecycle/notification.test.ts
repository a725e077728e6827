import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideOutcome } from '../../src/lifecycle/exit.ts';
import { takeFact } from '../../src/lifecycle/harness-fact.ts';
import type { FactKind } from '../../src/lifecycle/harness-fact.ts';
import { NOTABLE_STATUSES, notice, TOLD_KINDS } from '../../src/lifecycle/notification.ts';
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

  it('is told when it is close, when a person is asked and when it ended a run, with the figures alone', () => {
    const events = history(
      ['budget.warned', { ...figures, what: 'a prompt' }],
      ['budget.exceeded', { ...figures, what: 'a prompt' }],
      ['budget.cleared', {}],
      ['run.intended', { outcome: 'over_budget', budget: { ...figures, spent: 2_100_000 } }],
      ['run.ended', { outcome: 'over_budget', reason: 'a prompt' }],
    );
    expect(readAll(events).told.map(({ status, what, budget }) => [status, what, budget])).toEqual([
      ['budget', 'It is close to its limit.', figures],
      ['needs-input', 'It is over its limit, and goes on.', figures],
      ['budget', 'It was ended at its limit.', { ...figures, spent: 2_100_000 }],
    ]);
  });

  it.each([
    { ...figures, scope: 'a prompt' },
    { ...figures, kind: 'a prompt' },
    { ...figures, spent: 'a prompt' },
    { ...figures, spent: -1 },
    { ...figures, limit: 0 },
    { ...figures, limit: Infinity },
    {},
  ])('of which %j is on record is told without figures', (data) => {
    const told = readAll(history(['budget.warned', data], ['run.intended', { budget: data }])).told;
    expect(told.map(({ what, budget }) => [what, budget])).toEqual([
      ['It is close to its limit.', undefined],
    ]);
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
    completed: 'done',
  };

  it.each(OUTCOMES)(
    'as %s is told when it is a failure, a loss, a success or the limit of a budget, and forgets the run',
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

  it('is told when what somebody wanted was taken back, unless somebody else still wants it', () => {
    const after = (next: object | null) =>
      keysOf(['run.intended'], ['run.withdrawn', { next }], ['run.ended', { outcome: 'failed' }]);
    expect([after(null), after({ actor: 'bob' })]).toEqual([['3 failed'], []]);
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
    [{ outcome: 'completed', exitCode: 0 }, 'It exited with code 0.'],
  ])('with %j is said in a sentence', (data, what) => {
    expect(readAll(history(['run.ended', data])).told.map((each) => each.what)).toEqual([what]);
  });
});

it('an adopted run that ended is not told as lost: that it ended is known, and how is not', () => {
  const { outcome, reason } = decideOutcome(null, { kind: 'unseen', atMs: 1, uptimeMs: null });
  const died = decideOutcome(null, { kind: 'none' });
  const events = history(['run.ended', { outcome, reason }], ['run.ended', { ...died }]);
  expect(readAll(events).told.map(({ status, what }) => [status, what])).toEqual([
    ['ended', 'How is not known, for it was adopted while it was running.'],
    ['lost', 'How it ended is not known.'],
  ]);
});

describe('a turn', () => {
  const at = (kind: string, atMs: number): [string, Data] => [`harness.${kind}`, { atMs }];

  it.each(['turn.started', 'work.continued', 'input.needed'])(
    'that began with %s is told when it ends',
    (kind) => {
      const told = readAll(history(at(kind, 5), at('turn.ended', 9))).told.filter(
        ({ status }) => status === 'idle',
      );
      expect(told.map(({ key, what, atMs }) => [key, what, atMs])).toEqual([[2, 'Its turn has ended.', 9]]);
    },
  );

  it('is told once, whoever else reports its end, and again after the next', () => {
    const turn = [at('turn.started', 5), at('work.continued', 6), at('turn.ended', 7), at('turn.ended', 8)];
    const next = [at('turn.started', 10), at('turn.ended', 11)];
    expect(keysOf(...turn, ...next)).toEqual(['3 idle', '6 idle']);
  });

  it('has not ended by what is told of an earlier one', () => {
    expect(keysOf(at('turn.started', 5), at('turn.ended', 4), at('turn.ended', 6))).toEqual(['3 idle']);
  });

  it('is not told when nothing of it was heard, nor when somebody ends the run', () => {
    expect(keysOf(at('session.began', 1), at('turn.ended', 2))).toEqual([]);
    expect(keysOf(at('turn.started', 1), ['run.intended'], at('turn.ended', 2))).toEqual([]);
  });

  it('that a new conversation cut off is forgotten', () => {
    expect(keysOf(at('turn.started', 1), at('session.began', 2), at('turn.ended', 3))).toEqual([]);
  });
});

describe('a review', () => {
  const of = (verdict?: string) => ({
    review: 'v-1',
    pr: 'web#7',
    head: 'a'.repeat(40),
    verdict,
    run: 'r-9',
  });
  const told = (kind: string, data: Data) => readAll(history([kind, data, null])).told;

  it.each([
    ['approve', 'approved'],
    ['changes', 'changes are requested'],
    ['comment', 'commented, neither approved nor refused'],
  ])('that says %s is told, with what it is of and nothing that was written', (verdict, result) => {
    expect(told('review.submitted', { ...of(verdict), body: 'a secret' })).toEqual([
      {
        key: 1,
        status: 'review',
        sessionId: 'session-1',
        runId: 'r-9',
        atMs: 1_000,
        what: `web#7 at aaaaaaaaaa: ${result}.`,
        review: 'v-1',
      },
    ]);
  });

  it('without a result is told too, also when nobody had it', () => {
    const [failed] = told('review.failed', { ...of(), run: null, reason: 'a secret' });
    expect([failed?.what, failed?.runId]).toEqual(['web#7 at aaaaaaaaaa: there is no result.', null]);
  });

  it.each(['review.created', 'review.started', 'review.superseded', 'review.cancelled', 'review.fenced'])(
    'is not told for %s',
    (kind) => expect(told(kind, of('approve'))).toEqual([]),
  );

  it('whose record makes no sense is not told', () => {
    expect([told('review.submitted', of('shout')), told('review.submitted', { verdict: 'approve' })]).toEqual(
      [[], []],
    );
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
      const told = keysOf(asked, [kind], asked).filter((each) => each.endsWith('needs-input'));
      expect(told).toEqual(['1 needs-input', '3 needs-input']);
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

it('only events of the kinds that are listed as told are ever told', () => {
  const kinds = [
    'run.started',
    'run.intended',
    'harness.turn.started',
    'harness.session.began',
    'review.created',
  ];
  const told = [...TOLD_KINDS, ...kinds].filter((kind) => {
    const [before, event] = history(
      ['harness.work.continued'],
      [
        kind,
        { outcome: 'failed', verdict: 'approve', review: 'v-1', pr: 'a', head: 'b' },
        kind.startsWith('review.') ? null : 'run-1',
      ],
    );
    if (before === undefined || event === undefined) throw new Error('There are two.');
    return notice(notice({}, before).watch, event).notification !== null;
  });
  expect(told).toEqual([...TOLD_KINDS]);
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
          const wasAskedFor = (status === 'failed' || status === 'done') && after.intent !== null;
          // That a turn has ended is told for itself: what is idle may also have just begun.
          const isTold = status !== 'idle' && NOTABLE_STATUSES.some((notable) => notable === status);
          if (isNew && !wasAskedFor && isTold) {
            expected.push(`${events.length} ${after.id} ${status}`);
          }
          if (isNew && after.ending?.outcome === 'over_budget')
            expected.push(`${events.length} ${after.id} budget`);
        }
        const { watch, told: all } = readAll(events);
        const told = all.filter(({ status }) => status !== 'idle');
        expect(told.map(({ key, runId, status }) => `${key} ${runId} ${status}`)).toEqual(expected);
        const live = new Set(runs.filter(({ state }) => state !== 'ended').map(({ id }) => id));
        expect(Object.keys(watch).filter((id) => !live.has(id))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
