/** What the supervisor answers to what was confirmed in `top`: a sentence in every case, and never a throw. */
import { describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { act } from '../../src/cli/top/act.ts';
import type { LaunchResult } from '../../src/supervisor/launch.ts';
import type { Reeve } from '../../src/supervisor/reeve.ts';
import { sessionView } from '../fixtures/session-views.ts';
import { ENDED, EXECUTING } from '../lifecycle/samples.ts';

const SESSION = {
  id: 's-a',
  name: 'a',
  harness: 'command',
  cwd: '/',
  argv: ['true'],
  epoch: 1,
  createdAtMs: 0,
  nativeId: null,
};
const OUTSIDER = {
  identity: EXECUTING.keeper,
  argv: ['claude', '--resume', 'abc'],
  nativeId: 'abc',
  startedAtMs: null,
  cwd: '/',
  harness: 'claude',
  evidence: 'its command line',
};

/** Only injects what the supervisor would answer. */
const answering = (answers: Record<string, () => unknown>) => answers as unknown as Reeve;
const resuming = (result: unknown, asked: unknown[] = []) =>
  answering({
    resume: (...args: unknown[]) => {
      asked.push(args);
      return Promise.resolve(result as LaunchResult);
    },
  });

describe('resume', () => {
  const owner = { session: SESSION, run: EXECUTING };
  it.each([
    [
      'a live owner',
      { is: 'refused', code: 'live_owner', away: null, ...owner },
      'already has a live owner',
      'reeve attach a',
    ],
    [
      'being inside of it',
      { is: 'refused', code: 'inside_own_run', away: null, ...owner },
      'runs inside',
      'outside of it',
    ],
    [
      'an unproven end',
      { is: 'unproven', because: 'no answer', ...owner },
      'could not be proven',
      '--assume-gone',
    ],
    [
      'an owner of nobody’s',
      { is: 'unmanaged', owner: OUTSIDER, because: null },
      'did not start',
      'reeve adopt',
    ],
    [
      'no start',
      { is: 'never_started', replaced: null, session: SESSION, run: ENDED },
      'did not start',
      'Check',
    ],
  ])('that meets %s says so, and what to do', async (_, result, text, hint) => {
    expect(await act(resuming(result), 'resume', sessionView('a', 'done'))).toEqual({
      tone: 'bad',
      text: expect.stringContaining(text),
      hint: expect.stringContaining(hint),
    });
  });

  it.each([
    ['tmux', 'tmux'],
    ['detached', 'detached'],
    ['foreground', 'detached'],
    ['adopted', 'detached'],
  ] as const)('of what was %s is %s, and lets the run go', async (mode, next) => {
    const asked: unknown[] = [];
    let isReleased = false;
    const started = { is: 'started', replaced: null, ...owner, release: () => (isReleased = true) };
    const session = sessionView('a', 'done', { run: { mode } });
    const notice = await act(resuming(started, asked), 'resume', session);
    expect({ tone: notice.tone, asked, isReleased }).toEqual({
      tone: 'good',
      asked: [['s-a', { mode: next }]],
      isReleased: true,
    });
  });
});

describe('stop', () => {
  it('names the run that was shown, so that no other is ended', async () => {
    const asked: unknown[] = [];
    const reeve = answering({
      stop: (...args: unknown[]) => {
        asked.push(args);
        return Promise.resolve({ session: SESSION, run: ENDED, wasLive: true });
      },
    });
    expect(await act(reeve, 'stop', sessionView('a'))).toMatchObject({ tone: 'good' });
    expect(asked).toEqual([['r-a']]);
  });

  it('of what had ended before says so', async () => {
    const reeve = answering({
      stop: () => Promise.resolve({ session: SESSION, run: ENDED, wasLive: false }),
    });
    expect((await act(reeve, 'stop', sessionView('a'))).text).toContain('nothing to stop');
  });

  it.each([
    [
      new ReeveError('fenced', 'Not the current run.', { hint: 'Look again.' }),
      'Not the current run.',
      'Look again.',
    ],
    [new ReeveError('failed', 'No.'), 'No.', null],
    [new Error('unforeseen'), 'unforeseen', null],
    ['a string', 'a string', null],
  ])('that is refused or fails is told: %s', async (error, text, hint) => {
    const reeve = answering({
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- whatever it may be
      stop: () => Promise.reject(error),
    });
    expect(await act(reeve, 'stop', sessionView('a'))).toEqual({ tone: 'bad', text, hint });
  });
});
