import { describe, expect, test } from 'vitest';
import { activityAfterLoss } from '../../src/lifecycle/announcement.ts';
import { takeFact } from '../../src/lifecycle/harness-fact.ts';
import type { Activity, FactKind, HarnessFact, Native } from '../../src/lifecycle/harness-fact.ts';
import type { Run } from '../../src/lifecycle/run.ts';
import { ENDING, RUNNING } from './samples.ts';

const BOUND: Native = { is: 'bound', id: 'n-1' };
const ASKED: Native = { is: 'asked', id: 'n-1' };

function running(changes: Partial<Pick<Run, 'native' | 'activity'>> = {}): Run {
  return { ...RUNNING, ...changes };
}

function fact(kind: FactKind, changes: Partial<Omit<HarnessFact, 'kind'>> = {}): HarnessFact {
  return { ...kind, nativeId: 'n-1', atMs: 7_000, evidence: 'its hook', isFromHarness: true, ...changes };
}

function activity(is: Activity['is'], waitingFor: string | null = null): Activity {
  return { is, sinceMs: 7_000, evidence: 'its hook', waitingFor };
}

const OVER_RUN: Run = { ...RUNNING, state: 'ended', ending: ENDING };
const BEGAN: FactKind = { kind: 'session.began' };
const STARTED: FactKind = { kind: 'turn.started', promptDigest: 'd' };
const NEEDED: FactKind = { kind: 'input.needed', waitingFor: 'Bash' };
const CONTINUED: FactKind = { kind: 'work.continued' };
const STOPPED: FactKind = { kind: 'turn.ended' };
const OVER: FactKind = { kind: 'session.ended', reason: 'other' };

describe('what a harness says counts only for the run it is about', () => {
  test.each([
    ['an ended run', OVER_RUN, RUNNING.id, fact(STOPPED)],
    ['a run that was succeeded', running({ native: BOUND }), 'run-2', fact(STOPPED)],
    ['no conversation', running({ native: BOUND }), RUNNING.id, fact(STOPPED, { nativeId: null })],
    ['an empty conversation', running({ native: BOUND }), RUNNING.id, fact(STOPPED, { nativeId: '' })],
    ['another conversation', running({ native: BOUND }), RUNNING.id, fact(STOPPED, { nativeId: 'n-2' })],
    ['a conversation, before the harness has said its own', running(), RUNNING.id, fact(STOPPED)],
    [
      'the beginning of a nested one before the harness has said its own',
      running(),
      RUNNING.id,
      fact(BEGAN, { isFromHarness: false }),
    ],
    [
      'a beginning further down the tree',
      running({ native: BOUND }),
      RUNNING.id,
      fact(BEGAN, { nativeId: 'n-2', isFromHarness: false }),
    ],
    [
      'the beginning of a nested one before the own was confirmed',
      running({ native: ASKED }),
      RUNNING.id,
      fact(BEGAN, { nativeId: 'n-2', isFromHarness: false }),
    ],
  ])('%s is fenced', (_, run, current, said) => {
    expect(takeFact(run, current, said)).toStrictEqual({ take: 'fence', because: expect.any(String) });
  });
});

describe('the conversation', () => {
  test.each([
    ['is bound when the harness chose it', null, 'n-1', BOUND],
    ['is confirmed when it is the one asked for', ASKED, 'n-1', BOUND],
    ['that is not the one asked for is a mismatch', ASKED, 'n-2', { is: 'mismatch', id: 'n-1', got: 'n-2' }],
    ['may be changed by the harness itself later', BOUND, 'n-2', { is: 'bound', id: 'n-2' }],
  ] as const)('%s', (_, native, nativeId, expected) => {
    expect(takeFact(running({ native }), RUNNING.id, fact(BEGAN, { nativeId }))).toMatchObject({
      take: 'accept',
      native: expected,
    });
  });

  test('stays a mismatch, and only what it got instead is heard', () => {
    const native: Native = { is: 'mismatch', id: 'n-1', got: 'n-2' };
    const run = running({ native });
    expect(takeFact(run, RUNNING.id, fact(STARTED, { nativeId: 'n-2' }))).toStrictEqual({
      take: 'accept',
      native,
      activity: activity('working'),
      event: null,
    });
    expect(takeFact(run, RUNNING.id, fact(BEGAN, { nativeId: 'n-1' }))).toMatchObject({ take: 'fence' });
  });
});

describe('the activity', () => {
  test.each([
    ['idle when it began', BEGAN, activity('idle')],
    ['working from a prompt on', STARTED, activity('working')],
    ['working when it uses a tool', CONTINUED, activity('working')],
    ['needs input when it asks', NEEDED, activity('needs-input', 'Bash')],
    ['idle when its turn ended', STOPPED, activity('idle')],
  ])('is %s', (_, kind, expected) => {
    const result = takeFact(running({ native: BOUND }), RUNNING.id, fact(kind));
    expect(result).toMatchObject({ take: 'accept', activity: expected });
  });

  test('is not what was reported before the last report that counted', () => {
    const before: Activity = { is: 'idle', sinceMs: 9_000, evidence: 'later', waitingFor: null };
    const result = takeFact(running({ native: BOUND, activity: before }), RUNNING.id, fact(CONTINUED));
    expect(result).toMatchObject({ activity: before, event: null });
  });

  test('keeps since when it is so', () => {
    const before: Activity = { is: 'working', sinceMs: 1, evidence: 'earlier', waitingFor: null };
    const result = takeFact(running({ native: BOUND, activity: before }), RUNNING.id, fact(CONTINUED));
    expect(result).toStrictEqual({ take: 'accept', native: BOUND, activity: before, event: null });
  });

  test('keeps the question when the harness only reminds of it', () => {
    const before: Activity = { is: 'needs-input', sinceMs: 1, evidence: 'earlier', waitingFor: 'Bash' };
    const reminder: FactKind = { kind: 'input.needed', waitingFor: 'your permission' };
    const result = takeFact(running({ native: BOUND, activity: before }), RUNNING.id, fact(reminder));
    expect(result).toMatchObject({ activity: before, event: null });
  });

  test('is the newest question when the harness asks another one while it waits', () => {
    const asked = (command: string): FactKind => ({
      kind: 'input.needed',
      waitingFor: 'permission to use Bash',
      questionDigest: command,
    });
    const first = takeFact(running({ native: BOUND }), RUNNING.id, { ...fact(asked('a')), atMs: 1 });
    if (first.take === 'fence') throw new Error('It was fenced.');
    const waiting = running({ native: BOUND, activity: first.activity });
    expect(takeFact(waiting, RUNNING.id, { ...fact(asked('b')), atMs: 2 })).toMatchObject({
      activity: { is: 'needs-input', sinceMs: 2, waitingFor: 'permission to use Bash', questionDigest: 'b' },
      event: { kind: 'harness.input.needed', data: { questionDigest: 'b' } },
    });
    expect(takeFact(waiting, RUNNING.id, { ...fact(asked('a')), atMs: 2 })).toMatchObject({
      activity: first.activity,
      event: null,
    });
  });

  test('stays as it was when the session ends: its process tells the rest', () => {
    const before = activity('working');
    const result = takeFact(running({ native: BOUND, activity: before }), RUNNING.id, fact(OVER));
    expect(result).toMatchObject({ activity: before, event: { kind: 'harness.session.ended' } });
  });

  test('is told in the log with what it was about, and nothing more', () => {
    expect(takeFact(running({ native: BOUND }), RUNNING.id, fact(STARTED))).toMatchObject({
      event: {
        kind: 'harness.turn.started',
        data: { kind: 'turn.started', promptDigest: 'd', nativeId: 'n-1', evidence: 'its hook' },
      },
    });
  });
});

test('whatever is said after the record was lost counts, for nothing was known', () => {
  const lost = activityAfterLoss({ harness: 'claude' }, 9_000);
  expect(lost).toMatchObject({ is: 'unknown', sinceMs: 9_000 });
  const run = running({ native: BOUND, activity: lost });
  // By the clock of the files, which is a little behind.
  expect(takeFact(run, run.id, fact(STOPPED))).toMatchObject({ activity: activity('idle') });
  expect(activityAfterLoss({ harness: 'command' }, 9_000)).toBeNull();
});
