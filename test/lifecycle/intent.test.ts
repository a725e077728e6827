/** Who wants a run to end, where more than one does, and what is left when one takes it back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeStep } from '../../src/lifecycle/run.ts';
import type { Intent, LiveRun, Run, Step, StepEvent, StepResult } from '../../src/lifecycle/run.ts';
import { CLAIMED, EXECUTING, identityOf, INTENT, OWN_INTENT, STEPS } from './samples.ts';

const HELD: LiveRun = { ...EXECUTING, intent: OWN_INTENT };
const HELD_UNDEAD: LiveRun = { ...HELD, intent: { ...OWN_INTENT, failed: STEPS.survive.because } };

function taken(run: Run, event: StepEvent): StepResult {
  return { taken: true, run, event };
}
function refused(because: Extract<StepResult, { taken: false }>['because']): StepResult {
  return { taken: false, because };
}

describe('an intent that finds another on record', () => {
  const later: Intent = {
    ...INTENT,
    outcome: 'superseded',
    actor: 'bob',
    atMs: 6_000,
    uptimeMs: 51_000,
    id: 'intent-2',
    by: identityOf(401),
  };
  const third: Intent = { ...later, actor: 'eve', id: 'intent-3', by: identityOf(402) };
  const both: LiveRun = { ...EXECUTING, intent: { ...OWN_INTENT, others: [later] } };
  const event: StepEvent = { kind: 'run.intended', actor: 'bob', data: { ...later } };
  const intending = (intent: Intent, over?: Intent): Step => ({
    kind: 'intend',
    intent,
    ...(over === undefined ? {} : { over }),
  });
  const withdrawing = (run: Run, intent: Intent) => takeStep(run, { kind: 'withdraw', intent });

  it('stands behind it while its intender is at it', () => {
    expect(takeStep(HELD, intending(later))).toEqual(taken(both, event));
  });

  it('takes its place when its intender is over, and with it what the run was told first', () => {
    const run = { ...EXECUTING, intent: { ...later, uptimeMs: OWN_INTENT.uptimeMs } };
    expect(takeStep(HELD, intending(later, OWN_INTENT))).toEqual(taken(run, event));
  });

  it('does not take the place of another than the one whose intender is over', () => {
    expect(takeStep(HELD, intending(later, third))).toEqual(taken(both, event));
  });

  it('keeps that the run could not be ended before', () => {
    const result = takeStep(HELD_UNDEAD, intending(later, HELD_UNDEAD.intent ?? undefined));
    expect(result.taken && result.run.intent?.failed).toBe(STEPS.survive.because);
  });

  it('keeps those behind the one whose place it takes', () => {
    const result = takeStep(both, intending(third, OWN_INTENT));
    expect(result.taken && result.run.intent?.others).toEqual([later]);
  });

  it('comes next when the one before it is taken back', () => {
    expect(withdrawing(both, OWN_INTENT)).toEqual(
      taken(
        { ...EXECUTING, intent: later },
        { kind: 'run.withdrawn', actor: 'ada', data: { outcome: 'stopped', next: later } },
      ),
    );
  });

  it('can be taken back from behind, and the first stays', () => {
    expect(withdrawing(both, later)).toEqual(
      taken(HELD, {
        kind: 'run.withdrawn',
        actor: 'bob',
        data: { outcome: 'superseded', next: OWN_INTENT },
      }),
    );
  });

  it('is refused when its process asked already, when it is one too many, or where an automatic part asked first', () => {
    const refusals = [
      takeStep(HELD, intending({ ...later, by: identityOf(400) })),
      takeStep(both, intending({ ...third, by: identityOf(401) })),
      takeStep(
        { ...HELD, intent: { ...OWN_INTENT, others: Array.from({ length: 8 }, () => third) } },
        intending(later),
      ),
      takeStep({ ...HELD, intent: { ...OWN_INTENT, outcome: 'over_budget' } }, intending(later, OWN_INTENT)),
    ];
    expect(refusals).toEqual(refusals.map(() => refused('already_intended')));
  });

  it('is not taken back by anybody else, nor is what an automatic part wants', () => {
    const budget: Intent = { ...OWN_INTENT, outcome: 'over_budget' };
    expect(withdrawing(HELD, later)).toEqual(refused('not_intended'));
    expect(withdrawing({ ...HELD, intent: budget }, budget)).toEqual(refused('not_intended'));
  });
});

/** Intents that each have an id, of a process of its own, and those of them that are taken back, perhaps twice or too early. */
const anyDispute = fc
  .array(fc.oneof(fc.constantFrom(...Object.values(STEPS)), fc.nat(19)), { maxLength: 20 })
  .map((steps) =>
    steps.map((step, index): Step => {
      if (typeof step === 'number') return { kind: 'withdraw', intent: { ...OWN_INTENT, id: `i${step}` } };
      if (step.kind !== 'intend') return step;
      return { ...step, intent: { ...step.intent, id: `i${index}`, by: identityOf(500 + index) } };
    }),
  );

describe('any history of intents', () => {
  it('never has a wish on record that was taken back, nor loses one that was not', () => {
    fc.assert(
      fc.property(anyDispute, (history) => {
        let [run, wanted] = [CLAIMED as Run, new Set<string | undefined>()];
        for (const step of history) {
          const result = takeStep(run, step);
          if (!result.taken) continue;
          run = result.run;
          if (step.kind === 'intend') wanted.add(step.intent.id);
          if (step.kind === 'withdraw') wanted.delete(step.intent.id);
          const { others = [], ...first } = run.intent ?? { id: undefined };
          expect([first, ...others].flatMap(({ id }) => id ?? [])).toEqual([...wanted]);
        }
      }),
      { numRuns: 500 },
    );
  });
});
