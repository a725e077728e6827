import { describe, expect, it } from 'vitest';
import { refuseWrite } from '../../src/lifecycle/fence.ts';
import type { Run } from '../../src/lifecycle/run.ts';
import { CLAIMED, ENDING, INTENDED_OUTCOMES, INTENT, OUTCOMES, RUNNING } from './samples.ts';

const weighed = (run: Run, more: { currentId?: string; isHolder?: boolean } = {}) =>
  refuseWrite({ run, currentId: run.id, isHolder: true, ...more });

describe('a write', () => {
  it.each([CLAIMED, RUNNING])('of the current run, $state, counts', (run) => {
    expect(weighed(run)).toBeNull();
  });

  it.each(INTENDED_OUTCOMES)('of a run that is to be %s, but is not over, still counts', (outcome) => {
    for (const run of [CLAIMED, RUNNING]) {
      expect(weighed({ ...run, intent: { ...INTENT, outcome } })).toBeNull();
    }
  });

  it.each(OUTCOMES)('of a run that ended as %s is over, also while no other run came after', (outcome) => {
    const run: Run = { ...RUNNING, state: 'ended', ending: { ...ENDING, outcome } };
    const refused = { is: 'over', because: `it has ended (${outcome})` };
    expect(weighed(run)).toEqual(refused);
    expect(weighed(run, { currentId: 'another' })).toEqual(refused);
  });

  it.each([CLAIMED, RUNNING])('of a run, $state, that is not the current one is over', (run) => {
    expect(weighed(run, { currentId: 'another' })).toEqual({
      is: 'over',
      because: 'another run owns the session',
    });
  });

  it('of whoever does not hold the token is a stranger’s, whatever the run is', () => {
    const ended: Run = { ...RUNNING, state: 'ended', ending: ENDING };
    for (const run of [CLAIMED, RUNNING, ended]) {
      for (const currentId of [run.id, 'another']) {
        expect(weighed(run, { currentId, isHolder: false })).toEqual({
          is: 'stranger',
          because: 'the token is not its own',
        });
      }
    }
  });
});
