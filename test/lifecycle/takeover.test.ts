import { describe, expect, it } from 'vitest';
import type { Liveness } from '../../src/lifecycle/process-identity.ts';
import { planStart } from '../../src/lifecycle/takeover.ts';
import type { OnLive, StartPlan } from '../../src/lifecycle/takeover.ts';

const ALIVE: Liveness = { is: 'alive' };
const DEAD: Liveness = { is: 'dead', proof: 'gone', because: 'process 7 is gone' };
const UNKNOWN: Liveness = { is: 'unknown', because: 'it is on host loom' };
const ON_LIVE: readonly OnLive[] = ['refuse', 'attach', 'retire'];

describe('a start', () => {
  it.each(ON_LIVE)('claims a session without an owner, whatever is wanted of one (%s)', (onLive) => {
    expect(planStart(null, onLive)).toEqual({ do: 'claim' });
  });

  const UNPROVEN = { do: 'refuse', code: 'unproven', because: UNKNOWN.because } as const;
  const LIVE = { do: 'refuse', code: 'live_owner', because: 'it is alive' } as const;
  const INSIDE = {
    do: 'refuse',
    code: 'inside_own_run',
    because: 'this command runs inside the run it would end',
  } as const;
  const plans: readonly [Liveness, OnLive, boolean, StartPlan][] = [
    [DEAD, 'refuse', false, { do: 'reconcile' }],
    [DEAD, 'refuse', true, { do: 'reconcile' }],
    [DEAD, 'attach', false, { do: 'reconcile' }],
    [DEAD, 'attach', true, { do: 'reconcile' }],
    [DEAD, 'retire', false, { do: 'reconcile' }],
    [DEAD, 'retire', true, { do: 'reconcile' }],
    [UNKNOWN, 'refuse', false, UNPROVEN],
    [UNKNOWN, 'refuse', true, UNPROVEN],
    [UNKNOWN, 'attach', false, UNPROVEN],
    [UNKNOWN, 'attach', true, UNPROVEN],
    [UNKNOWN, 'retire', false, UNPROVEN],
    [UNKNOWN, 'retire', true, UNPROVEN],
    [ALIVE, 'refuse', false, LIVE],
    [ALIVE, 'refuse', true, LIVE],
    [ALIVE, 'attach', false, { do: 'attach' }],
    [ALIVE, 'attach', true, { do: 'attach' }],
    [ALIVE, 'retire', false, { do: 'retire' }],
    [ALIVE, 'retire', true, INSIDE],
  ];
  const cases = plans.map(([liveness, onLive, callerIsInside, plan]) => {
    return { is: liveness.is, liveness, onLive, callerIsInside, plan, deed: plan.do };
  });
  it.each(cases)(
    'on an owner that is $is, wanting $onLive, from inside of it $callerIsInside, will $deed',
    ({ liveness, onLive, callerIsInside, plan }) => {
      expect(planStart({ liveness, isOnOtherHost: false, callerIsInside }, onLive)).toEqual(plan);
    },
  );

  it.each(ON_LIVE)('takes an owner on another host for live, by what its record says (%s)', (onLive) => {
    expect(planStart({ liveness: UNKNOWN, isOnOtherHost: true, callerIsInside: false }, onLive)).toEqual({
      do: 'refuse',
      code: 'live_owner',
      because: UNKNOWN.because,
    });
  });
});
