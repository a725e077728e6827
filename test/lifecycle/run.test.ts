import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeStep } from '../../src/lifecycle/run.ts';
import type { Intent, LiveRun, Run, Step, StepEvent, StepResult } from '../../src/lifecycle/run.ts';
import {
  CLAIMED,
  ENDED,
  ENDING,
  EXECUTING,
  identityOf,
  INTENDED_OUTCOMES,
  INTENT,
  OWN_INTENT,
  OUTCOMES,
  RUNNING,
  STEPS,
  PARENTAGE,
} from './samples.ts';

const INTENDED_CLAIM: Run = { ...CLAIMED, intent: INTENT };
const INTENDED_RUNNING: Run = { ...RUNNING, intent: INTENT };
const INTENDED_EXECUTING: Run = { ...EXECUTING, intent: INTENT };
const NEVER_STARTED: Run = { ...CLAIMED, state: 'ended', ending: ENDING };

const { keeper, containment } = STEPS.start;
const awake = { fromMs: STEPS.start.awakeFromMs, ms: null };
const STARTED: StepEvent = { kind: 'run.started', actor: 'ada', data: { keeper, containment } };
const EXECUTES: StepEvent = {
  kind: 'run.executing',
  actor: 'keeper',
  data: { harness: STEPS.executing.harness, argv: CLAIMED.argv },
};
const INTENDED: StepEvent = { kind: 'run.intended', actor: 'bob', data: { ...STEPS.intend.intent } };
const ENDS: StepEvent = { kind: 'run.ended', actor: 'finaliser', data: { ...STEPS.end.ending } };

function taken(run: Run, event: StepEvent): StepResult {
  return { taken: true, run, event };
}
function refused(because: Extract<StepResult, { taken: false }>['because']): StepResult {
  return { taken: false, because };
}
function ended(run: Run): StepResult {
  const awakeThen = run.awake === null ? null : { ...run.awake, ms: STEPS.end.awakeMs };
  return taken({ ...run, state: 'ended', ending: STEPS.end.ending, awake: awakeThen }, ENDS);
}
function intended(run: LiveRun): StepResult {
  return taken({ ...run, intent: STEPS.intend.intent }, INTENDED);
}
function executes(run: Run): StepResult {
  return taken({ ...run, harness: STEPS.executing.harness }, EXECUTES);
}

function survives(run: LiveRun): StepResult {
  const intent = run.intent === null ? null : { ...run.intent, failed: STEPS.survive.because };
  return taken(
    { ...run, intent },
    {
      kind: 'run.survivors',
      actor: 'bob',
      data: { survivors: STEPS.survive.survivors, because: STEPS.survive.because },
    },
  );
}

/** A run that nobody started, or another run than the one that ends. */
const OF_ANOTHER = { await: refused('not_its_child'), detach: refused('not_its_child') };
const UNDEAD: LiveRun = {
  ...INTENDED_EXECUTING,
  intent: { ...INTENT, failed: STEPS.survive.because },
};
const HELD: LiveRun = { ...EXECUTING, intent: OWN_INTENT };
const HELD_UNDEAD: LiveRun = { ...HELD, intent: { ...OWN_INTENT, failed: STEPS.survive.because } };
const WITHDRAWN: StepEvent = {
  kind: 'run.withdrawn',
  actor: 'ada',
  data: { outcome: 'stopped', next: null },
};
const CHILD: LiveRun = { ...EXECUTING, parent: PARENTAGE };
const WAITING: LiveRun = { ...CHILD, parent: { ...PARENTAGE, waitsUntilMs: 4_600 } };

/** Every run that can be, against every step: no cell is left to chance. */
const TABLE: readonly [name: string, run: Run, results: Record<Step['kind'], StepResult>][] = [
  [
    'a claimed run',
    CLAIMED,
    {
      start: taken({ ...CLAIMED, state: 'running', keeper, containment, startedAtMs: 2_500, awake }, STARTED),
      executing: refused('not_started'),
      intend: intended(CLAIMED),
      withdraw: refused('not_started'),
      survive: refused('not_intended'),
      ...OF_ANOTHER,
      end: ended(CLAIMED),
    },
  ],
  [
    'a claimed run that somebody wants ended',
    INTENDED_CLAIM,
    {
      start: refused('already_intended'),
      executing: refused('not_started'),
      intend: refused('already_intended'),
      withdraw: refused('not_started'),
      survive: survives(INTENDED_CLAIM),
      ...OF_ANOTHER,
      end: ended(INTENDED_CLAIM),
    },
  ],
  [
    'a running run',
    RUNNING,
    {
      start: refused('already_started'),
      executing: executes(RUNNING),
      intend: intended(RUNNING),
      withdraw: refused('not_intended'),
      survive: refused('not_intended'),
      ...OF_ANOTHER,
      end: ended(RUNNING),
    },
  ],
  [
    'a running run that somebody wants ended',
    INTENDED_RUNNING,
    {
      start: refused('already_started'),
      // The keeper was let go before the intent, so its harness may come up after it, and must be known to be ended.
      executing: executes(INTENDED_RUNNING),
      intend: refused('already_intended'),
      withdraw: refused('not_intended'),
      survive: survives(INTENDED_RUNNING),
      ...OF_ANOTHER,
      end: ended(INTENDED_RUNNING),
    },
  ],
  [
    'a running run whose harness is known',
    EXECUTING,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: intended(EXECUTING),
      withdraw: refused('not_intended'),
      survive: refused('not_intended'),
      ...OF_ANOTHER,
      end: ended(EXECUTING),
    },
  ],
  [
    'a running run whose harness is known and that somebody wants ended',
    INTENDED_EXECUTING,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: refused('already_intended'),
      withdraw: refused('not_intended'),
      survive: survives(INTENDED_EXECUTING),
      ...OF_ANOTHER,
      end: ended(INTENDED_EXECUTING),
    },
  ],
  [
    'a running run that could not be ended before',
    UNDEAD,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: refused('already_intended'),
      withdraw: refused('not_intended'),
      survive: refused('already_survived'),
      ...OF_ANOTHER,
      end: ended(UNDEAD),
    },
  ],
  [
    'a running run that somebody wants ended who may take it back',
    HELD,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: refused('already_intended'),
      withdraw: taken({ ...HELD, intent: null }, WITHDRAWN),
      survive: survives(HELD),
      ...OF_ANOTHER,
      end: ended(HELD),
    },
  ],
  [
    'a running run that could not be ended for somebody who may take it back',
    HELD_UNDEAD,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: refused('already_intended'),
      withdraw: refused('already_survived'),
      survive: refused('already_survived'),
      ...OF_ANOTHER,
      end: ended(HELD_UNDEAD),
    },
  ],
  [
    'a claimed run that somebody wants ended who may take it back',
    { ...CLAIMED, intent: OWN_INTENT },
    {
      start: refused('already_intended'),
      executing: refused('not_started'),
      intend: refused('already_intended'),
      withdraw: refused('not_started'),
      survive: survives({ ...CLAIMED, intent: OWN_INTENT }),
      ...OF_ANOTHER,
      end: ended({ ...CLAIMED, intent: OWN_INTENT }),
    },
  ],
  [
    'a child of the run that ends',
    CHILD,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: intended(CHILD),
      withdraw: refused('not_intended'),
      survive: refused('not_intended'),
      await: taken(WAITING, {
        kind: 'child.waiting',
        actor: 'run run-0',
        data: { owner: 'run-0', waitsUntilMs: 4_600 },
      }),
      detach: taken(
        { ...CHILD, parent: { ...PARENTAGE, ownerId: null } },
        { kind: 'child.detached', actor: 'run run-0', data: { owner: 'run-0' } },
      ),
      end: ended(CHILD),
    },
  ],
  ...[
    ['a child that waits for a successor already', WAITING] as const,
    ['a child that was let go', { ...CHILD, parent: { ...PARENTAGE, ownerId: null } }] as const,
    ['a child of another run', { ...CHILD, parent: { ...PARENTAGE, ownerId: 'run-9' } }] as const,
  ].map(([name, run]): (typeof TABLE)[number] => [
    name,
    run,
    {
      start: refused('already_started'),
      executing: refused('already_started'),
      intend: intended(run),
      withdraw: refused('not_intended'),
      survive: refused('not_intended'),
      ...OF_ANOTHER,
      end: ended(run),
    },
  ]),
  ...[ENDED, NEVER_STARTED, { ...ENDED, intent: INTENT }].map((run, index): (typeof TABLE)[number] => [
    `an ended run (${['after executing', 'never started', 'as intended'][index]})`,
    run,
    {
      start: refused('ended'),
      executing: refused('ended'),
      intend: refused('ended'),
      withdraw: refused('ended'),
      survive: refused('ended'),
      await: refused('ended'),
      detach: refused('ended'),
      end: refused('ended'),
    },
  ]),
];

describe('a step of a run', () => {
  const cells = TABLE.flatMap(([name, run, results]) =>
    Object.values(STEPS).map((step) => ({ name, run, step, result: results[step.kind], kind: step.kind })),
  );
  it.each(cells)('$kind on $name is decided as the table says', ({ run, step, result }) => {
    const before = structuredClone(run);
    expect(takeStep(run, step)).toEqual(result);
    // A refused or a taken step leaves the value it was decided on as it was: the store still compares with it.
    expect(run).toEqual(before);
  });
});

describe('the end of a run', () => {
  it('is refused when it was decided on an intent that is no longer the one on record', () => {
    const decided = (run: Run, decidedOn: Intent | null) => takeStep(run, { ...STEPS.end, decidedOn });
    expect(decided(HELD, null)).toEqual(refused('intent_changed'));
    expect(decided(EXECUTING, OWN_INTENT)).toEqual(refused('intent_changed'));
    expect(decided(HELD, { ...OWN_INTENT, id: 'intent-2' })).toEqual(refused('intent_changed'));
    expect(decided(HELD, OWN_INTENT)).toEqual(ended(HELD));
    expect(decided(EXECUTING, null)).toEqual(ended(EXECUTING));
  });

  it('keeps the time awake that was recorded last when nobody can tell it', () => {
    const run: LiveRun = { ...EXECUTING, awake: { fromMs: 20_000, ms: 3_000 } };
    const result = takeStep(run, { kind: 'end', ending: ENDING });
    expect(result.taken && result.run.awake).toEqual({ fromMs: 20_000, ms: 3_000 });
  });
});

const anyIdentity = fc.integer({ min: 2, max: 9_999 }).map(identityOf);
const anyTime = fc.integer({ min: 0, max: 1_000_000 });
const anyActor = fc.constantFrom('ada', 'bob', 'reaper');
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('start' as const),
    keeper: anyIdentity,
    containment: fc.constantFrom({ by: 'subreaper' as const }, { by: 'marks' as const }),
    atMs: anyTime,
    awakeFromMs: anyTime,
  }),
  fc.record({ kind: fc.constant('executing' as const), harness: anyIdentity }),
  fc.record({
    kind: fc.constant('intend' as const),
    intent: fc.record({
      outcome: fc.constantFrom(...INTENDED_OUTCOMES),
      actor: anyActor,
      reason: fc.string(),
      atMs: anyTime,
      uptimeMs: anyTime,
    }),
  }),
  fc.record({
    kind: fc.constant('end' as const),
    ending: fc.record({
      outcome: fc.constantFrom(...OUTCOMES),
      reason: fc.string(),
      actor: anyActor,
      evidence: fc.array(fc.string(), { maxLength: 2 }),
      exitCode: fc.option(fc.integer({ min: 0, max: 255 })),
      signal: fc.constantFrom(null, 'SIGTERM'),
      endedAtMs: anyTime,
    }),
  }),
);
const anyHistory = fc.array(anyStep, { maxLength: 20 });

/** The run after each step of a history, beginning with the claim, and the events that were written. */
function live(history: readonly Step[]): { runs: readonly Run[]; events: readonly StepEvent[] } {
  const runs: Run[] = [CLAIMED];
  const events: StepEvent[] = [];
  for (const step of history) {
    const last = runs.at(-1) ?? CLAIMED;
    const result = takeStep(last, step);
    runs.push(result.taken ? result.run : last);
    if (result.taken) events.push(result.event);
  }
  return { runs, events };
}

function holds(promise: (lived: ReturnType<typeof live>, history: readonly Step[]) => void): void {
  fc.assert(
    fc.property(anyHistory, (history) => promise(live(history), history)),
    { numRuns: 500 },
  );
}

describe('any history of a run', () => {
  it('never changes the run again once it has ended', () => {
    holds(({ runs }) => {
      const end = runs.findIndex((run) => run.state === 'ended');
      if (end === -1) return;
      expect(runs.slice(end)).toEqual(runs.slice(end).map(() => runs[end]));
    });
  });

  it('has each kind of event at most once, and nothing after the end', () => {
    holds(({ events }) => {
      const kinds = events.map(({ kind }) => kind);
      expect(kinds).toEqual([...new Set(kinds)]);
      if (kinds.includes('run.ended')) expect(kinds.at(-1)).toBe('run.ended');
    });
  });

  it('keeps the first intent that was put on record before the end', () => {
    holds(({ runs }, history) => {
      const end = history.findIndex(({ kind }) => kind === 'end');
      const before = end === -1 ? history : history.slice(0, end);
      const first = before.find((step) => step.kind === 'intend');
      expect(runs.at(-1)?.intent).toEqual(first?.intent ?? null);
    });
  });

  it('never starts a run that somebody already wanted ended', () => {
    holds(({ events }) => {
      const kinds = events.map(({ kind }) => kind);
      const [started, wanted] = [kinds.indexOf('run.started'), kinds.indexOf('run.intended')];
      if (started !== -1 && wanted !== -1) expect(started).toBeLessThan(wanted);
    });
  });

  it('goes from claimed to running to ended and never back', () => {
    const order = { claimed: 0, running: 1, ended: 2 };
    holds(({ runs }) => {
      const ranks = runs.map(({ state }) => order[state]);
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    });
  });

  it('knows a harness only of a run that has a keeper, and changes neither later', () => {
    holds(({ runs }) => {
      for (const field of ['keeper', 'harness', 'containment', 'startedAtMs'] as const) {
        const known = runs.map((run) => run[field]).filter((value) => value !== null);
        expect(known).toEqual(known.map(() => known[0]));
      }
      expect(runs.filter((run) => run.harness !== null && run.keeper === null)).toEqual([]);
    });
  });

  it('leaves what was claimed as it was claimed', () => {
    holds(({ runs }) => {
      const claimed = runs.map(
        ({ id, sessionId, epoch, argv, cwd, actor, launcher, tokenHash, claimedAtMs }) => {
          return { id, sessionId, epoch, argv, cwd, actor, launcher, tokenHash, claimedAtMs };
        },
      );
      expect(claimed).toEqual(claimed.map(() => claimed[0]));
    });
  });
});
