/** `reeve top` and its terminal: it is given back on every way out, and where there is none it is text. */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { openScreen } from '../fixtures/top-screen.ts';
import type { ScreenOptions, TopScreen } from '../fixtures/top-screen.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
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
function openTop(options: ScreenOptions = {}): TopScreen {
  screen = openScreen(sandbox, options);
  return screen;
}

const modesOf = (top: TopScreen) =>
  ['alternate_on', 'cursor_flag', 'wrap_flag'].map((name) => top.flag(name));

/** As it was before `top`: the ordinary screen with what was on it, a cursor, lines that wrap. */
async function isAsBefore(top: TopScreen, code: string): Promise<void> {
  expect(await top.ended()).toEqual({ code, isRestored: true });
  await top.shows(/^what was there before$/);
  await top.shows(new RegExp(`^ended with ${code}$`));
  expect(modesOf(top)).toEqual(['0', '1', '1']);
  expect(top.lines().some((line) => line.startsWith('reeve top'))).toBe(false);
}

describe('the terminal', () => {
  it('is taken: alternate screen, no cursor, nothing of before to be seen', async () => {
    const top = openTop();
    await top.shows(/^reeve top/);
    expect(modesOf(top)).toEqual(['1', '0', '0']);
    expect(top.lines().some((line) => line.includes('what was there before'))).toBe(false);
  });

  it.each(['q', 'C-c'])('is given back by %s, exit 0', async (key) => {
    const top = openTop();
    await top.shows(/No sessions yet/);
    top.press(key);
    await isAsBefore(top, '0');
  });

  it.each([
    ['SIGTERM', '143'],
    ['SIGHUP', '129'],
    ['SIGINT', '130'],
    ['SIGQUIT', '131'],
  ] as const)('is given back at %s, exit %s', async (signal, code) => {
    const top = openTop();
    await top.shows(/No sessions yet/);
    signalSeen(await top.process(), signal);
    await isAsBefore(top, code);
  });

  it('is given back at SIGTERM while the log of a run is followed, too', async () => {
    const { run } = await detached('a', 'sh', '-c', 'echo one; exec sleep 60');
    const top = openTop();
    await top.shows(/^> ● {2}a /);
    top.press('Enter');
    await top.shows(/^one$/);
    signalSeen(await top.process(), 'SIGTERM');
    await isAsBefore(top, '143');
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('is given back at SIGTERM while tmux has it, and the session goes on', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '-t', '-d', '-s', 'a', '--', 'sleep', '60']);
    const client = () => panes.tmux('list-clients', '-F', '#{client_session}').stdout.trim();
    const top = openTop();
    await top.shows(/^> ● {2}a /);
    top.press('Enter');
    await eventually('the client is attached', () => client() === run.id);
    signalSeen(await top.process(), 'SIGTERM');
    await isAsBefore(top, '143');
    await eventually('the client is gone', () => client() === '');
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });

  it('is given back by an error that nobody foresaw, which is then to be read', async () => {
    const fault = `setInterval(() => { if (require('node:fs').existsSync('fault')) throw new Error('not foreseen'); }, 20);`;
    writeFileSync(sandbox.path('fault.cjs'), fault);
    const top = openTop({ env: { NODE_OPTIONS: `--require ${sandbox.path('fault.cjs')}` } });
    await top.shows(/No sessions yet/);
    writeFileSync(sandbox.path('fault'), '');
    await top.shows(/^Error: not foreseen/);
    const { code, isRestored } = await top.ended();
    expect({ isFailed: code !== '0', isRestored }).toEqual({ isFailed: true, isRestored: true });
    expect(modesOf(top)).toEqual(['0', '1', '1']);
  });

  it.each(['key', 'signal'])(
    'is the shell’s while it is suspended by a %s, and ours again after',
    async (by) => {
      const top = openTop();
      await top.shows(/No sessions yet/);
      if (by === 'key') top.press('C-z');
      else signalSeen(await top.process(), 'SIGTSTP');
      await top.shows(/^suspended with \d+$/);
      expect(top.wasSuspendedRestored()).toBe(true);
      expect(modesOf(top)).toEqual(['0', '1', '1']);
      await detached('new', 'sleep', '60');
      top.continue();
      await top.shows(/^> ● {2}new /);
      expect(modesOf(top)).toEqual(['1', '0', '0']);
      await top.hides(/suspended with/);
      top.press('?');
      await top.shows(/Ctrl-Z +suspend/);
      top.press('x', 'q');
      expect(await top.ended()).toEqual({ code: '0', isRestored: true });
    },
  );

  it('is drawn anew after SIGSTOP and SIGCONT, and by Ctrl-L', async () => {
    const top = openTop();
    await top.shows(/No sessions yet/);
    const process = await top.process();
    for (const again of [() => signalSeen(process, 'SIGCONT'), () => top.press('C-l')]) {
      // Somebody else writes over it.
      writeFileSync(top.flag('pane_tty'), '\u001B[2J\u001B[Hgarbage');
      await top.shows(/^garbage/);
      again();
      await top.shows(/No sessions yet/);
      await top.hides(/garbage/);
    }
  });

  it('whose window is closed ends it, and only it', async () => {
    const { run } = await detached('a', 'sleep', '60');
    const top = openTop();
    await top.shows(/^> ● {2}a /);
    const process = await top.process();
    await top.close();
    await eventually('top has ended', () => !isAlive(process));
    expect(isAlive(see(run.pid ?? 0))).toBe(true);
  });
});

describe('a store that is away', () => {
  it('is told, with the last list as of then, until it is back', async () => {
    const server = await startPostgres();
    try {
      sandbox.env['REEVE_STORE'] = await server.createDatabase();
      await detached('a', 'sleep', '60');
      const top = openTop();
      await top.shows(/^> ● {2}a +working/);
      await server.halt();
      await top.shows(/^Not refreshed: /);
      await eventually('it is told of when the list is', () =>
        /Shown as of\s+\d\d:\d\d:\d\d\./.test(top.lines().join(' ')),
      );
      await top.shows(/^> ● {2}a +working/);
      top.press('s');
      await top.shows(/── Stop a\?/);
      top.press('y');
      await top.shows(/stopping a/);
      await top.hides(/stopping a/);
      await server.start();
      await top.hides(/Not refreshed/);
      await top.shows(/^> ● {2}a +working/);
      top.press('q');
      expect(await top.ended()).toEqual({ code: '0', isRestored: true });
      await sandbox.json(['kill', 'a']);
      delete sandbox.env['REEVE_STORE'];
    } finally {
      await screen?.close();
      await server.stop();
    }
  });
});

describe('without a screen', () => {
  const PLAIN = 'trap : INT; $TOP < "$IN" 2>&1; echo "ended with $?"; exec sleep 60';

  it.each([
    ['TERM is dumb', { TERM: 'dumb', IN: '/dev/tty' }],
    ['standard input is no terminal', { IN: '/dev/null' }],
  ])('because %s, the list is printed again when it changed, with its time, until Ctrl-C', async (_, env) => {
    const top = openTop({ env, script: PLAIN, rows: 40 });
    await top.shows(/^No sessions yet/);
    await detached('new', 'sleep', '60');
    await top.shows(/^● {2}new +working/);
    const times = () =>
      top.lines().filter((line) => /^reeve top, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(line));
    await sandbox.json(['stop', 'new']);
    await top.shows(/^■ {2}new +stopped/);
    expect(times().length).toBeGreaterThanOrEqual(3);
    expect(top.flag('alternate_on')).toBe('0');
    top.press('C-c');
    await top.shows(/^(\^C)?ended with 0$/);
  });

  it('because its output is read by a program, it has no colours and no control characters', async () => {
    await detached('a', 'sleep', '60');
    const child = sandbox.start(['top']);
    let out = '';
    child.stdout?.on('data', (chunk) => (out += String(chunk)));
    const done = finished(child);
    await eventually('the list', () => /^● {2}a +working/m.test(out));
    await sandbox.json(['stop', 'a']);
    await eventually('the list again', () => /^■ {2}a +stopped/m.test(out));
    child.kill('SIGINT');
    expect(await done).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('--json is one snapshot, the same value as of ls', async () => {
    await detached('a', 'sleep', '60');
    await sandbox.reeve(['run', '-s', 'b', '--', 'true']);
    const snapshot = await sandbox.json(['top']);
    expect(snapshot).toEqual(await sandbox.list());
    expect(snapshot).toHaveLength(2);
  });
});
