import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExitEvidence } from '../../src/lifecycle/exit.ts';
import type { DeathProof, Liveness } from '../../src/lifecycle/process-identity.ts';
import {
  decideReconcile,
  DOUBT_EXPIRES_MS,
  isMassDeath,
  isUnexplainedDeath,
  MASS_DEATH_MINIMUM,
  planDoubt,
  SECOND_LOOK_MS,
  explainGone,
} from '../../src/lifecycle/reconcile.ts';
import type { ReconcileDecision } from '../../src/lifecycle/reconcile.ts';
import type { LiveRun } from '../../src/lifecycle/run.ts';
import { CLAIMED, EXECUTING, INTENT, RUNNING } from './samples.ts';

const PROOFS = ['gone', 'reused', 'zombie', 'namespace', 'rebooted'] as const satisfies readonly DeathProof[];
const EXITS: readonly ExitEvidence[] = [
  { kind: 'none' },
  { kind: 'not_started', reason: 'no such program', atMs: 4_000 },
  { kind: 'exited', code: 0, signal: null, atMs: 4_000, uptimeMs: null, oomKills: null },
  { kind: 'malformed', because: 'no code' },
];
const RUNS: readonly LiveRun[] = [
  CLAIMED,
  { ...CLAIMED, intent: INTENT },
  RUNNING,
  EXECUTING,
  { ...EXECUTING, intent: INTENT },
];

function dead(proof: DeathProof): Extract<Liveness, { is: 'dead' }> {
  return { is: 'dead', proof, because: `proven by ${proof}` };
}

const everyCase = RUNS.flatMap((run) => EXITS.map((exit) => ({ run, exit })));

describe('a reader of a run that claims to live', () => {
  it.each(everyCase)(
    'does nothing when the owner is alive ($run.state, exit $exit.kind)',
    ({ run, exit }) => {
      expect(decideReconcile(run, { is: 'alive' }, exit)).toEqual({ do: 'nothing' });
    },
  );

  it.each(everyCase)('holds when the owner is unknown ($run.state, exit $exit.kind)', ({ run, exit }) => {
    expect(decideReconcile(run, { is: 'unknown', because: 'hidden' }, exit)).toEqual({
      do: 'hold',
      because: 'hidden',
    });
  });

  it.each(everyCase.flatMap(({ run, exit }) => PROOFS.map((proof) => ({ run, exit, proof }))))(
    'finalises when the owner is dead ($run.state, exit $exit.kind, $proof)',
    ({ run, exit, proof }) => {
      expect(decideReconcile(run, dead(proof), exit)).toEqual({
        do: 'finalise',
        // Without its launcher a claimed run can never have started, whatever lies in its directory.
        exit:
          run.state === 'claimed'
            ? { kind: 'not_started', reason: expect.any(String), atMs: run.claimedAtMs }
            : exit,
        proof,
        because: `proven by ${proof}`,
      });
    },
  );
});

describe('a record that could not be read', () => {
  const FAILED = { kind: 'failed', because: 'EIO' } as const;

  it.each(RUNS.flatMap((run) => PROOFS.map((proof) => ({ run, proof }))))(
    'concludes nothing of a dead run that was running ($run.state, $proof)',
    ({ run, proof }) => {
      const decision = decideReconcile(run, dead(proof), FAILED);
      // A claimed one never wrote any.
      if (run.state === 'claimed')
        expect(decision).toMatchObject({ do: 'finalise', exit: { kind: 'not_started' } });
      else expect(decision).toEqual({ do: 'hold', because: expect.stringContaining('EIO') });
    },
  );

  it('of however many runs is no mass death: each is held for itself', () => {
    expect(isMassDeath(times(50, decideReconcile(RUNNING, dead('gone'), FAILED)))).toBe(false);
  });
});

const UNEXPLAINED = decideReconcile(RUNNING, dead('gone'), { kind: 'none' });
const MALFORMED = decideReconcile(RUNNING, dead('gone'), { kind: 'malformed', because: 'no code' });
const BY_REBOOT = decideReconcile(RUNNING, dead('rebooted'), { kind: 'none' });
const EXITED: readonly ReconcileDecision[] = EXITS.filter(
  ({ kind }) => kind === 'exited' || kind === 'not_started',
).map((exit) => decideReconcile(RUNNING, dead('gone'), exit));
const NOTHING: ReconcileDecision = { do: 'nothing' };
const HOLD: ReconcileDecision = { do: 'hold', because: 'hidden' };

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}

describe('a sweep in which many look dead at once', () => {
  it.each([
    [MASS_DEATH_MINIMUM - 1, 0, false],
    [MASS_DEATH_MINIMUM, 0, true],
    [MASS_DEATH_MINIMUM, MASS_DEATH_MINIMUM - 1, true],
    [MASS_DEATH_MINIMUM, MASS_DEATH_MINIMUM, false],
    [MASS_DEATH_MINIMUM, MASS_DEATH_MINIMUM + 1, false],
    [9, 0, true],
    [0, 9, false],
    [0, 0, false],
  ])('with %i unexplained deaths and %i living is doubted: %s', (deaths, living, expected) => {
    expect(MASS_DEATH_MINIMUM).toBe(5);
    expect(isMassDeath([...times(deaths, UNEXPLAINED), ...times(living, NOTHING)])).toBe(expected);
  });

  it.each(['gone', 'reused', 'zombie', 'namespace'] as const)('doubts deaths proven by %s alone', (proof) => {
    expect(isMassDeath(times(5, decideReconcile(RUNNING, dead(proof), { kind: 'none' })))).toBe(true);
  });

  it('doubts deaths whose exit records make no sense, for those explain nothing', () => {
    expect(isMassDeath(times(5, MALFORMED))).toBe(true);
  });

  it('believes a reboot, which needs no look at a process table', () => {
    expect(isMassDeath(times(50, BY_REBOOT))).toBe(false);
  });

  it('believes deaths that left an exit record', () => {
    for (const exited of EXITED) expect(isMassDeath(times(50, exited))).toBe(false);
  });

  it('is doubted exactly when at least five, and more than half of all, are unexplained', () => {
    const anyCount = fc.integer({ min: 0, max: 12 });
    const anyExplained = fc.array(fc.constantFrom(BY_REBOOT, ...EXITED, NOTHING, HOLD), { maxLength: 24 });
    fc.assert(
      fc.property(anyCount, anyExplained, fc.nat(), (deaths, others, seed) => {
        const at = others.length === 0 ? 0 : seed % others.length;
        const sweep = [...others.slice(0, at), ...times(deaths, UNEXPLAINED), ...others.slice(at)];
        expect(isMassDeath(sweep)).toBe(deaths >= 5 && deaths > others.length);
      }),
    );
  });
});

describe('a command that is gone while its keeper lives', () => {
  const gone = { is: 'dead', proof: 'gone', because: 'process 7 is gone' } as const;
  const obstacle = { because: 'the disk is full', remedy: 'free some space' };

  it('is doubted with the best reason there is', () => {
    const words = [
      explainGone({ is: 'alive' }, gone, null),
      explainGone({ is: 'alive' }, gone, obstacle),
      explainGone({ is: 'alive', isStopped: true }, gone, obstacle),
    ];
    expect(words.every((each) => each.startsWith('its command is gone (process 7 is gone)'))).toBe(true);
    expect(words.map((each) => each.includes('the disk is full; free some space'))).toEqual([
      false,
      true,
      false,
    ]);
    expect(words.map((each) => each.includes('is stopped'))).toEqual([false, false, true]);
  });
});

describe('one death in a mass death', () => {
  const NOW = 10_000_000_000;
  const plan = (agoMs: number | null, isTableSane = true) =>
    planDoubt({ doubtedAtMs: agoMs === null ? null : NOW - agoMs, nowMs: NOW, isTableSane });

  it('is doubted at first, and once more when the last doubt is old, or from the future', () => {
    expect([plan(null), plan(DOUBT_EXPIRES_MS + 1), plan(-1)]).toEqual(['doubt', 'doubt', 'doubt']);
    expect([plan(null, false), plan(DOUBT_EXPIRES_MS + 1, false), plan(-1, false)]).toEqual([
      'doubt',
      'doubt',
      'doubt',
    ]);
  });

  it('waits for a second look, which is long enough after the first', () => {
    expect([plan(0), plan(SECOND_LOOK_MS - 1)]).toEqual(['wait', 'wait']);
  });

  it('is believed by that second look, and not by a table that does not work', () => {
    expect([plan(SECOND_LOOK_MS), plan(DOUBT_EXPIRES_MS)]).toEqual(['conclude', 'conclude']);
    expect([plan(SECOND_LOOK_MS, false), plan(DOUBT_EXPIRES_MS, false)]).toEqual(['wait', 'wait']);
  });

  it('concludes only between the two, whatever the times, and never by a table that does not work', () => {
    const anyTime = fc.integer({ min: 0, max: 2 * DOUBT_EXPIRES_MS });
    fc.assert(
      fc.property(fc.option(anyTime), anyTime, fc.boolean(), (doubtedAtMs, nowMs, isTableSane) => {
        const sinceMs = doubtedAtMs === null ? -1 : nowMs - doubtedAtMs;
        const isDue = sinceMs >= SECOND_LOOK_MS && sinceMs <= DOUBT_EXPIRES_MS;
        expect(planDoubt({ doubtedAtMs, nowMs, isTableSane }) === 'conclude').toBe(isDue && isTableSane);
      }),
    );
  });

  it('is one that nothing explains', () => {
    expect([UNEXPLAINED, MALFORMED].map(isUnexplainedDeath)).toEqual([true, true]);
    expect([BY_REBOOT, ...EXITED, NOTHING, HOLD].some(isUnexplainedDeath)).toBe(false);
  });
});
