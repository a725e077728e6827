/** `reeve top` in a real terminal: what it shows, and what its keys do. */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { installStandInTui, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { openScreen } from '../fixtures/top-screen.ts';
import type { ScreenOptions, TopScreen } from '../fixtures/top-screen.ts';
import { startObeying } from '../support/obeying.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import { openStore } from '../../src/store/open.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
let screen: TopScreen | undefined;
beforeEach(() => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
});
afterEach(async () => {
  await screen?.close();
  screen = undefined;
  await panes.cleanUp();
});

const detached = (name: string, ...command: readonly string[]) =>
  sandbox.json<SessionView>(['run', '--detach', '-s', name, '--', ...command]);
const inTmux = (name: string, ...command: readonly string[]) =>
  sandbox.json<SessionView>(['run', '--tmux', '--detach', '-s', name, '--', ...command]);
async function openTop(options: ScreenOptions = {}): Promise<TopScreen> {
  screen = openScreen(sandbox, options);
  await screen.shows(/^reeve top/);
  await screen.hides(/Looking…/);
  return screen;
}
const at = (top: TopScreen, name: string) => eventually(`${name} is selected`, () => top.selected() === name);
const endOf = (name: string) =>
  eventually(`${name} has ended`, async () => {
    const session = await sandbox.show(name);
    return session.run.state === 'ended' && session;
  });

/** On record, as a reader of its transcript would put it. */
async function spend(sessionId: string, tokens: number): Promise<void> {
  const store = await openStore({ sqlite: `${sandbox.home}/reeve.db` });
  try {
    await store.recordUsage({
      sessionId,
      nativeId: 'n1',
      path: '/t.jsonl',
      from: null,
      to: { identity: 'disk:1', offset: 1, state: '' },
      records: [
        {
          key: 'm1',
          model: 'opus',
          atMs: Date.now(),
          input: tokens,
          output: 0,
          cacheRead: 0,
          cacheWrite: 0,
          reasoning: 0,
        },
      ],
    });
  } finally {
    await store.close();
  }
}

describe('the list', () => {
  it('has the groups with their counts, what is waited for, and the totals', async () => {
    const tui = installStandInTui(sandbox);
    await inTmux('asks', 'claude');
    await tui.tell('ask');
    await detached('works', 'sleep', '60');
    await sandbox.reeve(['run', '-s', 'fails', '--', 'sh', '-c', 'exit 3']);
    await sandbox.reeve(['run', '-s', 'does', '--', 'true']);
    const top = await openTop();
    await top.shows(/^Needs you 1$/);
    await top.shows(/^> ▲ {2}asks +needs-input .* claude/);
    await top.shows(/└ May it\?/);
    await top.shows(/^Working 1$/);
    await top.shows(/^ {2}● {2}works +working .* sleep 60/);
    await top.shows(/^Ended 2$/);
    await top.shows(/^ {2}✗ {2}fails +failed/);
    await top.shows(/^ {2}✓ {2}does +done/);
    await top.shows(/1 needs you · 1 working · 0 idle · 2 ended/);
    await top.shows(/^Enter attach .* q quit$/);
  });

  it('has a child below its parent, with what each has spent, and the child by itself when the parent is over', async () => {
    const parent = await startObeying(sandbox, 'lead');
    const child = await parent.json<SessionView>([
      'child',
      'run',
      '-d',
      '-s',
      'review',
      '--on-parent-end',
      'detach',
      '--',
      'sleep',
      '300',
    ]);
    await spend(parent.started.id, 1_690_000);
    await spend(child.id, 240_000);
    const top = await openTop();
    await top.shows(/SESSION +STATUS +FOR +TOKENS +HARNESS/);
    await top.shows(/^> ● {2}lead +working +\S+ +1\.69M/);
    await top.shows(/^ {2}● {2}└ review +working +\S+ +240k/);
    await sandbox.json(['stop', 'lead']);
    await top.shows(/^ {2}● {2}review +working +\S+ +240k/);
    await top.shows(/^Ended 1$/);
  });

  it('is moved in with j, k, arrows, g and G', async () => {
    for (const name of ['c', 'b', 'a']) await detached(name, 'sleep', '60');
    const [first = '', second = '', third = ''] = (await sandbox.list()).map(({ name }) => name);
    const top = await openTop();
    await at(top, first);
    top.press('j');
    await at(top, second);
    top.press('Down');
    await at(top, third);
    top.press('k');
    await at(top, second);
    top.press('Up');
    await at(top, first);
    top.press('G');
    await at(top, third);
    top.press('g');
    await at(top, first);
    top.press('PageDown');
    await at(top, third);
    top.press('Home');
    await at(top, first);
  });

  it('is searched letter by letter; Escape shows all', async () => {
    // What is looked for must not by chance be in a pid or in the name of a directory.
    await detached('web', 'sleep', '600.25');
    await detached('api', 'sleep', '600.75');
    const top = await openTop();
    top.press('/', 'a', 'p', 'i');
    await top.shows(/^\/api_ {3}1 of 2$/);
    await top.hides(/ web /);
    await at(top, 'api');
    top.press('BSpace', 'BSpace', 'BSpace', '0', '.', '2', '5', 'Enter');
    await at(top, 'web');
    await top.hides(/ api /);
    top.press('Escape');
    await top.shows(/ api /);
    await top.shows(/^Enter attach/);
  });

  it('changes when another process starts a session, and when one ends by itself', async () => {
    const top = await openTop();
    await top.shows(/No sessions yet/);
    await detached('new', 'sh', '-c', 'while [ ! -e go ]; do sleep 0.02; done');
    await top.shows(/^> ● {2}new +working/);
    writeFileSync(sandbox.path('go'), '');
    await top.shows(/^> ✓ {2}new +done/);
    await top.shows(/0 working · 0 idle · 1 ended/);
  });

  it('fits the terminal when that is resized, and columns stay columns with wide and combining names', async () => {
    const names = ['한국어', 'e\u0301te\u0301-x', 'plain'];
    for (const name of names) await detached(name, 'sleep', '60');
    const top = await openTop();
    const column = async () => {
      await top.shows(/^ {5}SESSION/);
      const rows = top.lines().filter((line) => /^[> ] ● /.test(line));
      // As the terminal has them, cell by cell: it gives a wide character one place in the text, and takes two.
      return rows.map((line) => {
        const before = line.slice(0, line.indexOf('working'));
        const wide = [...before].filter((character) => /[가-힣]/.test(character)).length;
        const marks = [...before].filter((character) => /\p{Mn}/u.test(character)).length;
        return [...before].length + wide - marks;
      });
    };
    const cells = await column();
    expect(new Set(cells)).toEqual(new Set([cells[0]]));
    expect(cells).toHaveLength(3);
    top.resize(40, 12);
    await top.shows(/^reeve top {2}▲ 0 {2}● 3/);
    await top.hides(/DIRECTORY/);
    await top.shows(/^Enter attach {3}s stop {3}\? help {3}q quit$/);
    expect(top.lines()).toHaveLength(12);
    top.resize(120, 30);
    await top.shows(/DIRECTORY/);
    await top.shows(/3 working/);
    expect(top.lines().filter((line) => line.startsWith('reeve top'))).toHaveLength(1);
    // Twice at once: what the terminal lost on the way is there again.
    top.resize(40, 5);
    top.resize(120, 30);
    await top.shows(/^Enter attach .* q quit$/);
    await top.shows(/DIRECTORY/);
  });

  it('has no colours with NO_COLOR, and the selection is seen all the same', async () => {
    await detached('a', 'sleep', '60');
    const top = await openTop({ env: { NO_COLOR: '1' } });
    await top.shows(/^> ● {2}a /);
    // oxlint-disable-next-line no-control-regex -- where colours would be
    expect(top.lines({ withColours: true }).join('')).not.toMatch(/\u001B\[[\d;]*[1-9]m/);
    top.press('q');
    await top.ended();
  });

  it('has colours without it', async () => {
    await detached('a', 'sleep', '60');
    const top = await openTop();
    await eventually('the selection is a bar', () =>
      // oxlint-disable-next-line no-control-regex -- reverse video
      /\u001B\[(?:0;)?7m(?:\u001B\[\d+m)*> /.test(top.lines({ withColours: true }).join('\n')),
    );
  });

  it('has help, which any key leaves', async () => {
    const top = await openTop();
    top.press('?');
    await top.shows(/Ctrl-Z +suspend/);
    top.press('x');
    await top.hides(/Ctrl-Z/);
  });
});

describe('stop', () => {
  it('asks with all that one needs to know; n leaves it, y ends it with all that it started', async () => {
    const script = '(setsid sh -c "echo \\$\\$ > child; exec sleep 60" &); echo $$ > worker; exec sleep 60';
    const { run } = await detached('a', 'sh', '-c', script);
    const [worker, child] = [await sandbox.pidFrom('worker'), await sandbox.pidFrom('child')];
    const top = await openTop();
    await at(top, 'a');
    top.press('s');
    await top.shows(/── Stop a\?/);
    await top.shows(new RegExp(`run +${run.id} \\(epoch 1, detached\\)`));
    await top.shows(new RegExp(`pid +${worker.pid} on `));
    await top.shows(/since +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+s ago\)/);
    await top.shows(/owner +\S/);
    await top.shows(/whole tree/);
    await top.shows(/^y stop it {3}n leave it$/);
    top.press('n');
    await top.hides(/Stop a\?/);
    expect([worker, child].filter(isAlive)).toHaveLength(2);

    top.press('s');
    await top.shows(/── Stop a\?/);
    top.press('y');
    await top.shows(new RegExp(`^a: run ${run.id} ended as stopped`));
    await top.shows(/^> ■ {2}a +stopped/);
    expect([worker, child].filter(isAlive)).toEqual([]);
    expect((await sandbox.show('a')).run).toMatchObject({ id: run.id, outcome: 'stopped' });
  });

  it('is neither pasted, nor typed ahead of the question', async () => {
    await detached('a', 'sleep', '60');
    const top = await openTop();
    await at(top, 'a');
    top.paste('sy');
    top.type('sy');
    await top.shows(/── Stop a\?/);
    top.paste('y');
    top.press('n');
    await top.hides(/Stop a\?/);
    top.press('?');
    await top.shows(/Ctrl-Z/);
    expect((await sandbox.show('a')).run.state).toBe('running');
  });

  it('is withdrawn when the session has another owner meanwhile, and that one is left alone', async () => {
    await detached('a', 'sleep', '60');
    const top = await openTop();
    await at(top, 'a');
    top.press('s');
    await top.shows(/── Stop a\?/);
    const { run } = await sandbox.json<SessionView>(['resume', '--detach', '--force', 'a']);
    // As it was seen: the old run ended, or the new one there already.
    await top.shows(/^a has changed meanwhile: run \S+ is (superseded|working)\.$/);
    await top.shows(/^> ● {2}a +working/);
    top.press('y');
    await top.hides(/changed meanwhile/);
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('of what has ended, and resume of what lives, are refused with a word', async () => {
    await sandbox.reeve(['run', '-s', 'done', '--', 'true']);
    await detached('live', 'sleep', '60');
    const top = await openTop();
    await at(top, 'live');
    top.press('r');
    await top.shows(/live is live, so there is nothing to resume/);
    top.press('j');
    await at(top, 'done');
    top.press('s');
    await top.shows(/nothing to stop: done is done/);
  });

  it('that was begun is finished when one quits meanwhile, and its result is told', async () => {
    await detached(
      'a',
      'sh',
      '-c',
      'trap "while [ ! -e go ]; do sleep 0.02; done; exit" TERM; echo $$ > worker; while :; do sleep 0.02; done',
    );
    await sandbox.pidFrom('worker');
    const top = await openTop();
    await at(top, 'a');
    top.press('s');
    await top.shows(/── Stop a\?/);
    top.press('y');
    await top.shows(/^stopping a …$/);
    top.press('q');
    await top.shows(/^reeve: still stopping a/);
    writeFileSync(sandbox.path('go'), '');
    await top.shows(/^reeve: a: run \S+ ended as stopped/);
    expect(await top.ended()).toEqual({ code: '0', isRestored: true });
  });
});

describe('resume', () => {
  it('asks, and starts the next run detached where the last one was', async () => {
    const { run } = await detached('a', 'sh', '-c', 'echo $$ > worker; exec sleep 60');
    await sandbox.pidFrom('worker');
    await sandbox.json(['stop', 'a']);
    const top = await openTop();
    await at(top, 'a');
    top.press('r');
    await top.shows(/── Resume a\?/);
    await top.shows(new RegExp(`last +${run.id} \\(epoch 1\\), stopped`));
    await top.shows(/next +detached/);
    expect((await sandbox.show('a')).epoch).toBe(1);
    top.press('y');
    await top.shows(/^a: run \S+ \(epoch 2\) is executing \(pid \d+\)/);
    await top.shows(/^> ● {2}a +working/);
    const next = await sandbox.show('a');
    expect(next).toMatchObject({ status: 'working', epoch: 2, run: { mode: 'detached' } });
    expect(isAlive(see(next.run.pid ?? 0))).toBe(true);
  });

  it('of a session in tmux is in tmux', async () => {
    await inTmux('a', 'sleep', '60');
    await sandbox.json(['stop', 'a']);
    const top = await openTop();
    await at(top, 'a');
    top.press('r');
    await top.shows(/next +in tmux/);
    top.press('y');
    await top.shows(/^a: run \S+ \(epoch 2\) is executing/);
    expect(await sandbox.show('a')).toMatchObject({ status: 'working', run: { mode: 'tmux' } });
  });

  it('that fails is told with what to do, and top goes on', async () => {
    writeFileSync(sandbox.path('tool'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    await detached('a', './tool');
    await endOf('a');
    writeFileSync(sandbox.path('tool'), '#!/no/such/interpreter\n');
    const top = await openTop();
    await at(top, 'a');
    top.press('r');
    await top.shows(/── Resume a\?/);
    top.press('y');
    await top.shows(/^a did not start/);
    await top.shows(/^Check the command and its directory\.$/);
    top.press('?');
    await top.shows(/Ctrl-Z/);
  });
});

describe('Enter', () => {
  const READER = 'while read -r line; do echo "got $line"; [ "$line" = end ] && exit 3; done';
  const client = () => panes.tmux('list-clients', '-F', '#{client_session}').stdout.trim();

  it('joins a session in tmux, which gets the keys, and comes back to the list when it is left', async () => {
    const { run } = await inTmux('a', 'sh', '-c', READER);
    const top = await openTop();
    await at(top, 'a');
    top.press('Enter');
    await eventually('the client is attached', () => client() === run.id);
    top.type('q and s and more');
    top.press('Enter');
    await top.shows(/^got q and s and more$/);
    top.press('C-b', 'd');
    await top.shows(/^a goes on \(working\)/);
    await top.shows(/^> ● {2}a +working/);
    expect(top.lines().some((line) => line.includes('got q'))).toBe(false);
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
    expect(top.flag('cursor_flag')).toBe('0');
    top.press('q');
    expect(await top.ended()).toEqual({ code: '0', isRestored: true });
    await top.shows(/^what was there before$/);
  });

  it('comes back when the joined session ends, and says how', async () => {
    await inTmux('a', 'sh', '-c', READER);
    const top = await openTop();
    await at(top, 'a');
    top.press('Enter');
    await eventually('the client is attached', () => client() !== '');
    top.type('end');
    top.press('Enter');
    await top.shows(/^a is failed: it exited with code 3/);
    await top.shows(/^> ✗ {2}a +failed/);
  });

  it('follows the log of a detached run until q; the run goes on', async () => {
    const script =
      'echo one; printf "\\033[2J\\033]0;title\\007two\\n"; while [ ! -e go ]; do sleep 0.02; done; echo three; exec sleep 60';
    const { run } = await detached('a', 'sh', '-c', script);
    const top = await openTop();
    await at(top, 'a');
    for (const leave of ['q', 'C-c']) {
      top.press('Enter');
      await top.shows(/^q goes back {3}following a, run /);
      await top.shows(/^one$/);
      await top.shows(/^two$/);
      if (leave === 'q') {
        writeFileSync(sandbox.path('go'), '');
        await top.shows(/^three$/);
        top.resize(60, 20);
        await eventually('the last line is at the bottom', () => top.lines()[19]?.startsWith('q goes back'));
        await top.shows(/^three$/);
      }
      top.press(leave);
      await top.shows(/^> ● {2}a +working/);
      await top.hides(/^three$/);
    }
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('leaves the last words of a run that ends meanwhile on the screen', async () => {
    await detached('a', 'sh', '-c', 'while [ ! -e go ]; do sleep 0.02; done; echo last words; exit 3');
    const top = await openTop();
    await at(top, 'a');
    top.press('Enter');
    await top.shows(/following a/);
    writeFileSync(sandbox.path('go'), '');
    await top.shows(/^q goes back {3}a has ended/);
    await top.shows(/^last words$/);
    top.press('q');
    await top.shows(/^> ✗ {2}a +failed/);
  });

  it('on a run in the foreground of another terminal, and on an ended one, says why not', async () => {
    await sandbox.reeve(['run', '-s', 'done', '--', 'true']);
    const other = sandbox.start(['run', '-s', 'fore', '--', 'sh', '-c', 'echo $$ > worker; exec sleep 60']);
    const worker = await sandbox.pidFrom('worker');
    const top = await openTop();
    await at(top, 'fore');
    top.press('Enter');
    await top.shows(new RegExp(`^fore runs in the foreground of another terminal \\(pid ${worker.pid}\\)`));
    top.press('G');
    await at(top, 'done');
    top.press('Enter');
    await top.shows(/^done has no live run to attach to: it is done/);
    await sandbox.json(['stop', 'fore']);
    await eventually('its terminal is free', () => other.exitCode !== null);
  });
});
