import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { CLI, HARNESSES, openStage } from './support/stage.ts';
import type { Refusal, Stage } from './support/stage.ts';

let stage: Stage;

/** A turn of a harness on a busy machine. */
const TURN_MS = 60_000;
/** What each harness asks before it runs a command. */
const QUESTION = /Do you want to proceed\?|Would you like to run|Allow execution|Allow once/;

describe.each(HARNESSES)('%s in tmux', (_, name) => {
  beforeEach(async () => {
    stage = await openStage(name);
  });
  afterEach(() => stage.close());

  it('is ready, works, needs input and completes its turn, each seen as such, and takes what it is sent once', async () => {
    await startInTmux();
    await untilStatus('idle');

    expect(await stage.json(['send', 'talk', 'first @@SLOW 3@@'])).toMatchObject({ session: 'talk' });
    await untilStatus('working');
    const refused = await stage.json<Refusal>(['send', 'talk', 'too early @@SAY no@@'], 1);
    expect(refused.error.code).toBe('busy');
    // Waits for the first turn, and is then a turn of its own.
    await stage.json(['send', '--queue', 'talk', 'second @@RUN touch made-by-tool@@ @@SAY done@@']);

    const asking = await untilStatus('needs-input');
    expect(asking.activity?.waitingFor).toEqual(expect.any(String));
    expect((await stage.json<Refusal>(['send', 'talk', 'not an answer'], 1)).error.code).toBe('busy');
    await untilScreen(QUESTION);
    expect(existsSync(stage.path('made-by-tool'))).toBe(false);
    await answer(asking.run.id);
    await untilStatus('idle');

    expect(existsSync(stage.path('made-by-tool'))).toBe(true);
    for (const [prompt, times] of [
      ['first', 1],
      ['second', 1],
      ['too early', 0],
      ['not an answer', 0],
    ] as const) {
      const turns = stage.promptsKnown().filter((each) => each.startsWith(prompt));
      expect({ prompt, times: turns.length }).toEqual({ prompt, times });
    }
    const detail = await stage.show('talk');
    expect(detail.nativeId).toEqual(expect.any(String));
    expect(detail.run.state).toBe('running');
  });

  it('is joined and left, and goes on; the end of its pane is its end', async () => {
    const { run } = await startInTmux();
    await untilStatus('idle');
    const harness = stage.own((await stage.show('talk')).run.pid);
    // Its own terminal, as a person has one.
    const client = spawn('script', ['-qec', `${process.execPath} ${CLI} attach talk`, '/dev/null'], {
      cwd: stage.harness.work,
      env: { ...stage.env, TERM: 'xterm-256color' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let shown = '';
    client.stdout.on('data', (chunk) => (shown += String(chunk)));
    const left = new Promise<number | null>((resolve) => client.once('exit', resolve));
    await eventually('the client is attached', () => clients(run.id) === 1, TURN_MS);
    client.stdin.write('\u0002d');
    expect(await left).toBe(0);
    expect(shown).toContain('talk goes on');
    expect(isAlive(harness)).toBe(true);

    tmux('kill-session', '-t', `=${run.id}`);
    const ended = await eventually(
      'the end of the session',
      async () => {
        const detail = await stage.show('talk');
        return detail.run.state === 'ended' && detail;
      },
      TURN_MS,
    );
    expect(ended.run).toMatchObject({
      outcome: 'stopped',
      reason: expect.stringContaining('terminal was closed'),
    });
    expect(isAlive(harness)).toBe(false);
  });
});

function startInTmux(): Promise<SessionView> {
  const { harness } = stage;
  return stage.json([
    'run',
    '--tmux',
    '--detach',
    '-s',
    'talk',
    '--',
    harness.name,
    ...harness.interactive(),
  ]);
}

function untilStatus(status: SessionView['status']): Promise<SessionView> {
  return eventually(
    `the status ${status}`,
    async () => {
      const [session] = await stage.list();
      return session?.status === status && session;
    },
    TURN_MS,
  );
}

function untilScreen(text: RegExp): Promise<true> {
  return eventually(
    `${text} on the screen`,
    async () =>
      text.test((await stage.json<{ screen: string }>(['logs', '--screen', 'talk'])).screen) && true,
    TURN_MS,
  );
}

/** A question that has only just been drawn does not take an answer yet in some of them, so it is given until it is gone. */
async function answer(runId: string): Promise<void> {
  await eventually(
    'the question is answered',
    async () => {
      const { screen } = await stage.json<{ screen: string }>(['logs', '--screen', 'talk']);
      if (!QUESTION.test(screen)) return true;
      tmux('send-keys', '-t', `=${runId}:0.0`, 'Enter');
      return false;
    },
    TURN_MS,
  );
}

function tmux(...args: readonly string[]): string {
  return execFileSync('tmux', ['-S', join(stage.reeveHome, 'tmux', 'socket'), ...args], { encoding: 'utf8' });
}

function clients(runId: string): number {
  return tmux('list-clients', '-t', `=${runId}`).split('\n').filter(Boolean).length;
}
