import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideOutcome } from '../../src/lifecycle/exit.ts';
import type { ExitEvidence } from '../../src/lifecycle/exit.ts';
import type { Intent } from '../../src/lifecycle/run.ts';
import { INTENDED_OUTCOMES, INTENT } from './samples.ts';

type Exited = Extract<ExitEvidence, { kind: 'exited' }>;

const CLEAN: Exited = { kind: 'exited', code: 0, signal: null, atMs: 4_000, uptimeMs: 40_000, oomKills: 0 };
const KILLED: Exited = { ...CLEAN, code: null, signal: 'SIGKILL' };
const NOT_STARTED: ExitEvidence = { kind: 'not_started', reason: 'no such program', atMs: 4_000 };
const MALFORMED: ExitEvidence = { kind: 'malformed', because: 'no code' };
const NONE: ExitEvidence = { kind: 'none' };

/** Outcome and exit only: the wording is for people and not a promise. */
function outcomeOf(intent: Intent | null, exit: ExitEvidence) {
  const { outcome, exitCode, signal } = decideOutcome(intent, exit);
  return { outcome, exitCode, signal };
}

describe('the outcome of a run that nobody wanted ended', () => {
  it.each([
    [0, null, 'completed'],
    [1, null, 'failed'],
    [255, null, 'failed'],
    [null, 'SIGTERM', 'failed'],
    [null, 'SIGKILL', 'failed'],
  ])('with code %s and signal %s is its own', (code, signal, outcome) => {
    expect(outcomeOf(null, { ...CLEAN, code, signal })).toEqual({ outcome, exitCode: code, signal });
  });

  it.each([NONE, MALFORMED])('is lost and not failed when the exit is $kind', (exit) => {
    expect(outcomeOf(null, exit)).toEqual({ outcome: 'lost', exitCode: null, signal: null });
  });

  it('says why the exit record could not be read', () => {
    expect(decideOutcome(null, MALFORMED).reason).toContain('no code');
  });

  it('is never_started, with the reason, when nothing was executed', () => {
    expect(decideOutcome(null, NOT_STARTED)).toEqual({
      outcome: 'never_started',
      reason: 'no such program',
      exitCode: null,
      signal: null,
    });
  });
});

describe('the outcome of a run that somebody wanted ended', () => {
  it.each(INTENDED_OUTCOMES)('is %s when the exit came after the intent', (outcome) => {
    const intent = { ...INTENT, outcome };
    expect(decideOutcome(intent, { ...KILLED, uptimeMs: INTENT.uptimeMs + 1 })).toEqual({
      outcome,
      reason: INTENT.reason,
      exitCode: null,
      signal: 'SIGKILL',
    });
  });

  it('is what was intended even when the harness then exited with code 0', () => {
    expect(outcomeOf(INTENT, { ...CLEAN, uptimeMs: INTENT.uptimeMs + 500 })).toEqual({
      outcome: 'stopped',
      exitCode: 0,
      signal: null,
    });
  });

  it.each([
    [CLEAN, true],
    [{ ...CLEAN, code: 3 }, true],
    [{ ...CLEAN, code: 143 }, false],
    [KILLED, false],
  ])('when that one was dead by then, says so of an exit that shows no signal', (exit, isSaid) => {
    const decided = decideOutcome(INTENT, { ...exit, uptimeMs: INTENT.uptimeMs + 500 }, { isForsaken: true });
    expect(decided.outcome).toBe('stopped');
    expect(decided.reason === INTENT.reason).toBe(!isSaid);
  });

  it.each([
    [CLEAN, 'completed'],
    [{ ...CLEAN, code: 3 }, 'failed'],
    [KILLED, 'failed'],
  ])('is its own when the exit was there before the intent', (exit, outcome) => {
    expect(outcomeOf(INTENT, exit)).toEqual({ outcome, exitCode: exit.code, signal: exit.signal });
  });

  it.each([
    [-11, 'completed'],
    [-10, 'stopped'],
    [-1, 'stopped'],
    [0, 'stopped'],
    [1, 'stopped'],
  ])('with the exit %i ms after the intent is %s, since the clock has steps of 10 ms', (after, outcome) => {
    expect(outcomeOf(INTENT, { ...CLEAN, uptimeMs: INTENT.uptimeMs + after }).outcome).toBe(outcome);
  });

  it('is what was intended when the exit cannot be put in order', () => {
    expect(outcomeOf(INTENT, { ...CLEAN, uptimeMs: null }).outcome).toBe('stopped');
  });

  it('does not depend on the wall clock, which may jump a day either way', () => {
    for (const atMs of [INTENT.atMs - 86_400_000, INTENT.atMs + 86_400_000]) {
      expect(outcomeOf(INTENT, { ...CLEAN, atMs }).outcome).toBe('completed');
      expect(outcomeOf(INTENT, { ...CLEAN, atMs, uptimeMs: INTENT.uptimeMs + 100 }).outcome).toBe('stopped');
    }
  });

  it.each([NONE, MALFORMED])('is what was intended when the exit is $kind', (exit) => {
    expect(decideOutcome(INTENT, exit)).toEqual({
      outcome: 'stopped',
      reason: INTENT.reason,
      exitCode: null,
      signal: null,
    });
  });

  it('is still never_started when nothing was executed', () => {
    expect(outcomeOf(INTENT, NOT_STARTED).outcome).toBe('never_started');
  });
});

describe('the reason of a death by signal', () => {
  const isToldAsOutOfMemory = (exit: Exited) => decideOutcome(null, exit).reason.includes('out of memory');

  it.each([
    [{ ...KILLED, oomKills: 1 }, true],
    [{ ...KILLED, oomKills: 0 }, false],
    [{ ...KILLED, oomKills: null }, false],
    [{ ...KILLED, signal: 'SIGTERM', oomKills: 1 }, false],
    [{ ...CLEAN, oomKills: 1 }, false],
  ])('%j is told as out of memory: %s', (exit, expected) => {
    expect(isToldAsOutOfMemory(exit)).toBe(expected);
  });

  it('names the signal', () => {
    expect(decideOutcome(null, { ...KILLED, signal: 'SIGSEGV' }).reason).toContain('SIGSEGV');
  });
});

describe('any evidence', () => {
  const anyExit = fc.oneof(
    fc.constantFrom(NONE, MALFORMED, NOT_STARTED),
    fc.record({
      kind: fc.constant('exited' as const),
      code: fc.option(fc.integer({ min: 0, max: 255 })),
      signal: fc.constantFrom(null, 'SIGTERM', 'SIGKILL'),
      atMs: fc.nat(),
      uptimeMs: fc.option(fc.nat({ max: 100_000 })),
      oomKills: fc.option(fc.nat({ max: 3 })),
    }),
  );
  const anyIntent = fc.option(
    fc.record({
      outcome: fc.constantFrom(...INTENDED_OUTCOMES),
      actor: fc.constant('ada'),
      reason: fc.constant('because'),
      atMs: fc.nat(),
      uptimeMs: fc.nat({ max: 100_000 }),
    }),
  );

  it('never makes a run completed without an exit with code 0', () => {
    fc.assert(
      fc.property(anyIntent, anyExit, (intent, exit) => {
        const decision = decideOutcome(intent, exit);
        if (decision.outcome !== 'completed') return;
        expect(exit).toMatchObject({ kind: 'exited', code: 0, signal: null });
      }),
    );
  });

  it('gives an intended outcome only to a run for which it was intended', () => {
    fc.assert(
      fc.property(anyIntent, anyExit, (intent, exit) => {
        const { outcome } = decideOutcome(intent, exit);
        const own = ['completed', 'failed', 'lost', 'never_started'];
        expect([...own, intent?.outcome]).toContain(outcome);
        // Known to have been wanted, it is not unknown how it ended.
        if (intent !== null) expect(outcome).not.toBe('lost');
      }),
    );
  });
});
