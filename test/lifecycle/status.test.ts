import { describe, expect, it } from 'vitest';
import type { Outcome, Run } from '../../src/lifecycle/run.ts';
import { deriveLiveness, deriveStatus, STATUS_OF_OUTCOME } from '../../src/lifecycle/status.ts';
import type { Status } from '../../src/lifecycle/status.ts';
import { CLAIMED, ENDED, ENDING, EXECUTING, INTENT, RUNNING } from './samples.ts';

const LIVENESS = ['alive', 'dead', 'unknown'] as const;

const OF_OUTCOME: Readonly<Record<Outcome, Status>> = {
  completed: 'done',
  failed: 'failed',
  never_started: 'failed',
  stopped: 'stopped',
  cancelled: 'cancelled',
  reaped: 'reaped',
  over_budget: 'over-budget',
  // Calm, not an error: the session went on in another run.
  superseded: 'superseded',
  // Not a failure: nobody knows how it ended.
  lost: 'lost',
};

it('no two ways to end share a word, but for what failed and what never began', () => {
  const words = Object.entries(STATUS_OF_OUTCOME).filter(([outcome]) => outcome !== 'never_started');
  expect(new Set(words.map(([, status]) => status)).size).toBe(words.length);
});

describe('the status of a session', () => {
  it.each(Object.entries(OF_OUTCOME))(
    'whose run ended as %s is %s, whatever a probe says',
    (outcome, status) => {
      // The keys of the record above are exactly the outcomes.
      const run: Run = { ...ENDED, ending: { ...ENDING, outcome: outcome as Outcome } };
      expect(LIVENESS.map((liveness) => deriveStatus(run, liveness, null))).toEqual([status, status, status]);
    },
  );

  it.each([CLAIMED, RUNNING, EXECUTING, { ...EXECUTING, intent: INTENT }])(
    'whose run is $state is working only when proven alive, and never dead before its end was recorded',
    (run) => {
      expect(LIVENESS.map((liveness) => deriveStatus(run, liveness, null))).toEqual([
        'working',
        'unknown',
        'unknown',
      ]);
      expect(deriveStatus(run, 'alive', 'its keeper is stopped')).toBe('unknown');
    },
  );

  it('needs a person while its run is over a budget that asks, whatever its harness says', () => {
    const run: Run = { ...EXECUTING, overBudget: { what: 'its budget of 5 tokens', sinceMs: 1 } };
    expect(LIVENESS.map((liveness) => deriveStatus(run, liveness, null))).toEqual([
      'needs-input',
      'unknown',
      'unknown',
    ]);
    const ended: Run = { ...ENDED, overBudget: run.overBudget };
    expect(deriveStatus(ended, 'dead', null)).toBe('done');
  });
});

it('what a harness does is unknown, not work, when the record of it was lost', () => {
  const lost = { is: 'unknown', sinceMs: 1, evidence: 'nothing', waitingFor: null } as const;
  expect(deriveStatus(EXECUTING, 'alive', null, lost)).toBe('unknown');
});

it('a run is not alive when its command is gone, whatever its keeper is', () => {
  expect(LIVENESS.map((owner) => deriveLiveness(owner))).toEqual(['alive', 'dead', 'unknown']);
  expect(LIVENESS.map((owner) => deriveLiveness(owner, 'gone'))).toEqual(['unknown', 'dead', 'unknown']);
});
