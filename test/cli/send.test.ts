/** Messages into a harness in tmux: once, whole, and delivered only when the harness says that it took them. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { eventsIn } from '../fixtures/stand-in-harness.ts';
import { installStandInTui, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes, StandInTui } from '../fixtures/stand-in-tui.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
let tui: StandInTui;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
  tui = installStandInTui(sandbox);
});
afterEach(() => panes.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

const untilStatus = (status: SessionView['status']) =>
  eventually(`the status ${status}`, async () => {
    const session = await sandbox.show('talk');
    return session.status === status && session;
  });

async function startTalk(): Promise<SessionView> {
  const started = await sandbox.json<SessionView>([
    'run',
    '--tmux',
    '--detach',
    '-s',
    'talk',
    '--',
    'claude',
  ]);
  await untilStatus('idle');
  return started;
}

/** With the text on standard input. */
function sendInput(text: string | Buffer, ...flags: readonly string[]): Promise<Finished> {
  const child = sandbox.start(['send', '--json', ...flags, 'talk', '-'], {
    env: sandbox.env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // It may end before it has read everything.
  child.stdin?.on('error', () => {});
  child.stdin?.end(text);
  return finished(child);
}

const sent = (text: string) => sandbox.json(['send', 'talk', text]);
const told = () => eventsIn(sandbox, 'message.delivered', 'message.undelivered').map(({ kind }) => kind);

describe('a text', () => {
  it.each([
    ['one word', 'hello'],
    [
      'lines, tabs, quotes and what a shell or tmux would expand',
      'a\n\n\tb\t"$HOME" `x` \\n #{pane_id} %H ~ ; & | !\n- end',
    ],
    ['letters of all the world', 'Grüße 你好 🙂👩‍👩‍👧 ‎عربى é'],
    ['a leading dash behind --', '--json'],
  ])('of %s arrives once and whole', async (_, text) => {
    const { run } = await startTalk();
    expect(await sandbox.json(['send', 'talk', '--', text])).toEqual({
      session: 'talk',
      run: run.id,
      characters: text.length,
    });
    expect(tui.prompts()).toEqual([text]);
    // Pasted as one piece, then Enter, and nothing else.
    const [before, pasted, after] = tui.typed().split(/\u001B\[20[01]~/); // oxlint-disable-line no-control-regex
    expect([before, pasted, after]).toEqual(['', text, '\r']);
    expect(told()).toEqual(['message.delivered']);
  });

  it('of a hundred thousand characters, read from standard input, arrives once and whole', async () => {
    await startTalk();
    const text = Array.from({ length: 2_000 }, (_, index) => `line ${index} `.padEnd(49, 'äöü')).join('\n');
    expect(text.length).toBe(99_999);
    const result = await sendInput(`${text}\r\n`);
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ characters: text.length });
    expect(tui.prompts()).toEqual([text]);
  });

  it('that ends in a word with an @ has a blank behind it, or Enter would choose a file', async () => {
    await startTalk();
    await sent('look at @src/main.ts');
    expect(tui.prompts()).toEqual(['look at @src/main.ts ']);
  });

  it('for people is told in a sentence', async () => {
    await startTalk();
    expect(await sandbox.reeve(['send', 'talk', 'hello'])).toMatchObject({
      code: 0,
      stdout: 'talk took it (5 characters).\n',
      stderr: '',
    });
  });

  it('is delivered while a person scrolls back in the pane', async () => {
    const { run } = await startTalk();
    panes.tmux('copy-mode', '-t', `=${run.id}:0.0`);
    await sent('hello');
    expect(tui.prompts()).toEqual(['hello']);
  });

  it('that the harness swallows is not called delivered, and not sent twice', async () => {
    await startTalk();
    // The same text was taken before, which says nothing about now.
    await sent('lost');
    await tui.tell('finish');
    await untilStatus('idle');
    const before = tui.typed();
    await tui.tell('swallow');
    const sending = sandbox.json<Failure>(['send', 'talk', 'lost'], 7);
    await eventually('it was submitted', () => tui.typed() === before.repeat(2));
    // Another sender has to wait until it is known what became of it.
    expect((await sandbox.json<Failure>(['send', 'talk', 'me too'], 1)).error.code).toBe('busy');
    expect((await sending).error.code).toBe('undelivered');
    expect(tui.typed()).toBe(before.repeat(2));
    expect(tui.prompts()).toEqual(['lost']);
    expect(told()).toEqual(['message.delivered', 'message.undelivered']);
    await sent('again');
    expect(tui.prompts()).toEqual(['lost', 'again']);
  });

  it('waits for the input box of a harness that has only just begun', async () => {
    sandbox.env['STAND_IN_TUI_LATE'] = '1';
    const { run } = await startTalk();
    const sending = sent('early');
    const place = join(sandbox.home, 'runs', run.id);
    await eventually('it holds the lock', () =>
      readdirSync(place).some((name) => name.startsWith('send-lock')),
    );
    // Which takes longer than it would take to type.
    expect((await sandbox.json<Failure>(['send', 'talk', 'me too'], 1)).error.code).toBe('busy');
    expect(tui.typed()).toBe('');
    await tui.tell('appear');
    await sending;
    expect(tui.prompts()).toEqual(['early']);
  });

  it('is not called delivered because of another turn that begins just then', async () => {
    await startTalk();
    await tui.tell('report something else');
    expect((await sandbox.json<Failure>(['send', 'talk', 'mine'], 7)).error.code).toBe('undelivered');
  });

  it('upon which the harness ends is not called delivered, nor unsent', async () => {
    await startTalk();
    await tui.tell('leave');
    const { error } = await sandbox.json<Failure>(['send', 'talk', '/exit'], 7);
    expect(error.code).toBe('undelivered');
    expect(error.message).not.toContain('nothing was sent');
  });
});

describe('a harness that is not idle', () => {
  it('works: refused with 1, and nothing is typed', async () => {
    await startTalk();
    await tui.tell('work its own');
    await untilStatus('working');
    const { error } = await sandbox.json<Failure>(['send', 'talk', 'too early'], 1);
    expect(error.code).toBe('busy');
    expect(tui.typed()).toBe('');
    expect(told()).toEqual([]);
  });

  it('waits for an answer: refused with 1, and nothing is typed', async () => {
    await startTalk();
    await tui.tell('work its own');
    await tui.tell('ask');
    await untilStatus('needs-input');
    const { error } = await sandbox.json<Failure>(['send', 'talk', 'no answer'], 1);
    expect(error.code).toBe('busy');
    expect(tui.typed()).toBe('');
  });

  it('that shows work on its screen is not typed into, whatever it reported', async () => {
    await startTalk();
    await tui.tell('silent');
    await tui.tell('work unreported');
    await untilStatus('working');
    expect((await sandbox.json<Failure>(['send', 'talk', 'too early'], 1)).error.code).toBe('busy');
    expect(tui.typed()).toBe('');
  });

  it('gets a queued text once it is idle, and once', async () => {
    await startTalk();
    await tui.tell('work its own');
    await untilStatus('working');
    const queued = finished(sandbox.start(['send', '--queue', 'talk', 'later']));
    // Another sender is refused meanwhile, which takes as long as several looks of the queued one.
    expect((await sandbox.reeve(['send', 'talk', 'now'])).code).toBe(1);
    expect(tui.typed()).toBe('');
    await tui.tell('finish');
    expect((await queued).code).toBe(0);
    expect(tui.prompts()).toEqual(['its own', 'later']);
  });

  it('gets all that are queued, one after another, each in a turn of its own', async () => {
    await startTalk();
    await tui.tell('work its own');
    await untilStatus('working');
    const texts = ['one', 'two', 'three'];
    const queued = texts.map((text) => finished(sandbox.start(['send', '--queue', 'talk', text])));
    for (let turn = 1; turn <= 3; turn += 1) {
      await tui.tell('finish');
      await eventually('the next is taken', () => tui.prompts().length > turn);
    }
    expect((await Promise.all(queued)).map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(tui.prompts().slice(1).toSorted()).toEqual(texts.toSorted());
  });

  it('gets nothing of a queued text that is called off with Ctrl-C', async () => {
    const { run } = await startTalk();
    await tui.tell('work its own');
    await untilStatus('working');
    const sender = sandbox.start(['send', '--queue', 'talk', 'called off']);
    const done = finished(sender);
    const place = join(sandbox.home, 'runs', run.id);
    await eventually('it waits', () => readdirSync(place).some((name) => name.startsWith('send-lock')));
    sender.kill('SIGINT');
    expect((await done).code).toBe(1);
    await tui.tell('finish');
    await untilStatus('idle');
    expect(tui.typed()).toBe('');
  });

  it('that ends while a text is queued: 3, and nothing is typed', async () => {
    await startTalk();
    await tui.tell('work its own');
    await untilStatus('working');
    const queued = finished(sandbox.start(['send', '--queue', '--json', 'talk', 'too late']));
    await sandbox.json(['stop', 'talk']);
    const { code, stdout } = await queued;
    expect(code).toBe(3);
    expect((JSON.parse(stdout) as Failure).error.code).toBe('not_found');
  });
});

describe('two senders', () => {
  it('at once are never mixed: one is delivered, the other refused or after it', async () => {
    await startTalk();
    const texts = ['first '.repeat(2_000).trim(), 'second '.repeat(2_000).trim()];
    const results = await Promise.all(texts.map((text) => sandbox.reeve(['send', 'talk', text])));
    const delivered = texts.filter((_, index) => results[index]?.code === 0);
    expect(results.map(({ code }) => code).filter((code) => code !== 0 && code !== 1)).toEqual([]);
    expect(delivered.length).toBeGreaterThan(0);
    expect(tui.prompts().toSorted()).toEqual(delivered.toSorted());
  });

  it('of which one was killed while it held the lock: the other is not kept waiting', async () => {
    const { run } = await startTalk();
    await tui.tell('swallow');
    const sender = sandbox.start(['send', 'talk', 'interrupted']);
    const done = finished(sender);
    await eventually('it was submitted', () => tui.typed().endsWith('\r'));
    sender.kill('SIGKILL');
    expect((await done).signal).toBe('SIGKILL');
    await sent('next');
    expect(tui.prompts()).toEqual(['next']);
    expect(existsSync(join(sandbox.home, 'runs', run.id))).toBe(true);
  });
});

describe('bad input', () => {
  it.each([
    ['nothing', ''],
    ['only blanks', ' \n\t '],
    ['an escape sequence', 'red \u001B[31m'],
    ['an end of paste', 'a\u001B[201~\rrm -rf /'],
    ['a lone carriage return', 'a\rb'],
    ['Ctrl-C', 'a\u0003'],
    ['a C1 control character', 'a\u009Bb'],
    ['DEL', 'a\u007F'],
  ])('%s: exit 2, one sentence, and nothing is typed', async (_, text) => {
    await startTalk();
    const result = await sandbox.reeve(['send', 'talk', text]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toMatch(/^reeve: [^\n]+\.\n(?:[^\n]+\n)?$/);
    expect(result.stderr).toMatch(/^[\P{Cc}\n]*$/u);
    expect(tui.typed()).toBe('');
  });

  it.each([
    ['a megabyte', Buffer.alloc(1_000_000, 'x')],
    ['100,001 characters', Buffer.alloc(100_001, 'x')],
    ['NUL', Buffer.from('a\0b')],
    ['nothing', Buffer.from('\n')],
  ])('%s on standard input: exit 2, one sentence, and nothing is typed', async (_, text) => {
    await startTalk();
    const result = await sendInput(text);
    expect(result.code).toBe(2);
    expect((JSON.parse(result.stdout) as Failure).error.code).toBe('usage');
    expect(tui.typed()).toBe('');
  });

  it('a text without an end on standard input: exit 2, without waiting for it', async () => {
    const child = sandbox.start(['send', '--json', 'talk', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
    const done = finished(child);
    child.stdin?.on('error', () => {});
    child.stdin?.write(Buffer.alloc(10_000_000, 'x'));
    expect((await done).code).toBe(2);
  });

  it('an unknown session: 3', async () => {
    expect((await sandbox.json<Failure>(['send', 'nobody', 'hello'], 3)).error.code).toBe('not_found');
  });

  it('a session that has ended: 3, also by the id of its run', async () => {
    const { run } = await startTalk();
    await sandbox.json(['stop', 'talk']);
    for (const name of ['talk', run.id])
      expect((await sandbox.json<Failure>(['send', name, 'hello'], 3)).error.code).toBe('not_found');
  });

  it('an earlier run of a session: 5, and nothing is typed into its successor', async () => {
    const { run } = await startTalk();
    await sandbox.json(['stop', 'talk']);
    await sandbox.json(['resume', '--tmux', '--detach', 'talk']);
    await untilStatus('idle');
    expect((await sandbox.json<Failure>(['send', run.id, 'hello'], 5)).error.code).toBe('fenced');
    expect(tui.typed()).toBe('');
  });

  it('a session that is not in tmux: 2', async () => {
    writeFileSync(sandbox.path('bin/quiet'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
    await sandbox.json(['run', '--detach', '--harness', 'claude', '-s', 'plain', '--', 'quiet']);
    const { error } = await sandbox.json<Failure>(['send', 'plain', 'hello'], 2);
    expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining('tmux') as unknown });
  });

  it('a plain command in tmux, of which nobody could tell whether it took anything: 2', async () => {
    await sandbox.json(['run', '--tmux', '--detach', '-s', 'plain', '--', 'cat']);
    expect((await sandbox.json<Failure>(['send', 'plain', 'hello'], 2)).error.code).toBe('usage');
    expect((await sandbox.json<{ screen: string }>(['logs', '--screen', 'plain'])).screen.trim()).toBe('');
  });
});

it('a tmux server that is stopped: 7, and nothing is called delivered', async () => {
  const { run } = await startTalk();
  const server = panes.server();
  signalSeen(server, 'SIGSTOP');
  const { error } = await sandbox.json<Failure>(['send', 'talk', 'hello'], 7);
  expect(error.code).toBe('tmux_unknown');
  expect(isAlive(see(run.pid ?? 0))).toBe(true);
  signalSeen(server, 'SIGCONT');
  expect(told()).toEqual([]);
  await untilStatus('idle');
  expect(tui.prompts()).toEqual([]);
});
