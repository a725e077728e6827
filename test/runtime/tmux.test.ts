/** Sessions in a real tmux server: how they start, what is known of them, how they end. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { findTmux, openTmux } from '../../src/runtime/tmux.ts';
import { orderText, terminalName } from '../../src/runtime/tmux-order.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import {
  cleanUp,
  contentOf,
  open,
  orderOf,
  path,
  prepare,
  raw,
  remember,
  serverOf,
  start,
  valueOf,
} from './own-server.ts';

beforeEach(prepare);
afterEach(cleanUp);

const words = (file: string) => readFileSync(file, 'latin1').split('\0').slice(0, -1);

describe('a started session', () => {
  it('executes its program itself, with every argument as it was given', async () => {
    const tmux = open();
    const given = [
      'a\nb\tc',
      `it's "quoted" \\ $HOME ~ #{pid} #[x] %H ; }`,
      'grüße 🎈',
      '',
      'x'.repeat(40_000),
      ';',
    ];
    const script = 'open F, ">", shift; print F join("\\x01", @ARGV), "\\x02"; close F; sleep 1000';
    const { pid } = await start(tmux, 'r-1', ['perl', '-e', script, path('out'), ...given]);
    const text = await contentOf(path('out'), (all) => all.endsWith('\u0002'));
    expect(text.slice(0, -1).split('\u0001')).toEqual(given);
    expect(words(`/proc/${pid}/cmdline`).slice(0, 2)).toEqual(['perl', '-e']);
    expect(valueOf(await tmux.pane('r-1')).pid).toBe(pid);
  });

  it('executes a program of one word without a shell', async () => {
    const { pid } = await start(open(), 'r-1', ['cat']);
    await eventually('it is cat', () => words(`/proc/${pid}/cmdline`).join(' ') === 'cat');
  });

  it('has the environment that it is given and TERM, and nothing else', async () => {
    const tmux = open();
    const environment = { PATH: process.env['PATH'] ?? '', REEVE_HOME: '/a b', WITH: `'"$x\n#{pid};` };
    const { pid, environment: told } = await start(tmux, 'r-1', ['cat'], { environment });
    await eventually('it is cat', () => words(`/proc/${pid}/cmdline`).join(' ') === 'cat');
    const expected = Object.entries({ TERM: terminalName(), ...environment }).map(
      ([name, value]) => `${name}=${value}`,
    );
    expect(words(`/proc/${pid}/environ`).sort()).toEqual(expected.sort());
    const { pid: serverPid } = serverOf(tmux);
    expect(told).toEqual({ TERM: terminalName(), TMUX: `${tmux.socket},${serverPid},0`, TMUX_PANE: '%0' });
  });

  it('is in the directory it is given, whatever that is called', async () => {
    const cwd = path(`a#{pid}b#[x]%H##c'd"é $HOME ~`);
    mkdirSync(cwd);
    const { pid } = await start(open(), 'r-1', ['cat'], { cwd });
    await eventually('it is there', () => readlinkSync(`/proc/${pid}/cwd`) === cwd);
  });

  it('has a terminal of the size that is asked for', async () => {
    await start(open(), 'r-1', ['sh', '-c', `stty size > ${path('size')}; cat`], { columns: 133, rows: 41 });
    expect(await contentOf(path('size'), (text) => text.endsWith('\n'))).toBe('41 133\n');
  });

  it('is refused when the name is taken, and leaves what has it alone', async () => {
    const tmux = open();
    const { pid } = await start(tmux, 'r-1', ['cat'], { logPath: path('first.log') });
    expect(await tmux.start(orderOf('r-1', ['true'], { logPath: path('second.log') }))).toEqual({
      is: 'refused',
    });
    expect(valueOf(await tmux.pane('r-1')).pid).toBe(pid);
    await tmux.paste('r-1', 'still logged');
    await contentOf(path('first.log'), (text) => text.includes('still logged'));
  });

  it('shares one server with those started at the same moment', async () => {
    const tmux = open();
    const names = Array.from({ length: 6 }, (_, index) => `r-${index}`);
    const answers = await Promise.all(names.map((name) => tmux.start(orderOf(name, ['cat']))));
    remember(tmux.socket, valueOf(await tmux.server()).pid);
    const panes = await Promise.all(names.map((name) => tmux.pane(name)));
    expect(panes.map((pane) => valueOf(pane).pid)).toEqual(answers.map((answer) => valueOf(answer).pid));
    expect(new Set(answers.map((answer) => valueOf(answer).environment.TMUX.split(',')[1])).size).toBe(1);
  });

  it('is not started by an order that was cut short, wherever it was cut', async () => {
    const tmux = open();
    await start(tmux, 'r-0');
    const whole = orderText(orderOf('r-1', ['cat'], { logPath: path('log') }), 'screen');
    for (let length = 0; length < whole.length - 2; length += 41) {
      const cut = spawnSync('tmux', ['-S', tmux.socket, 'start-server', ';', 'source-file', '-'], {
        input: whole.slice(0, length),
      });
      // With nothing at all there is nothing to complain about.
      expect(cut.status).toBe(length === 0 ? 0 : 1);
    }
    expect(await tmux.pane('r-1')).toEqual({ is: 'gone' });
    expect(raw(tmux.socket, 'list-sessions', '-F', '#{session_name}')).toBe('r-0\n');
  });

  it.each(['', 'a.b', 'a:b', 'a b', '=a', '-a', '$1', '@1', '%1', 'a*', 'é', 'x'.repeat(101)])(
    'cannot be called %j',
    async (name) => {
      const tmux = open();
      await expect(tmux.start(orderOf(name, ['cat']))).rejects.toMatchObject({ code: 'bad_name' });
      await expect(tmux.pane(name)).rejects.toMatchObject({ code: 'bad_name' });
      await expect(tmux.end(name)).rejects.toMatchObject({ code: 'bad_name' });
      expect(await tmux.server()).toEqual({ is: 'gone' });
    },
  );
});

describe('the server', () => {
  it('knows nothing of who happened to start it, and shows nothing of its orders', async () => {
    writeFileSync(path('.tmux.conf'), 'set -g base-index 7\nset -g status on\n');
    vi.stubEnv('HOME', path('.'));
    for (const name of ['TMUX', 'TMUX_PANE', 'CLAUDECODE', 'REEVE_RUN', 'SECRET_KEY'])
      vi.stubEnv(name, 'of-the-caller');
    const tmux = open();
    await start(tmux, 'r-1', ['cat'], { environment: { REEVE_STORE: 'postgres://secret' } });
    const { pid } = serverOf(tmux);
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('of-the-caller');
    expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).not.toMatch(/secret|r-1/);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe('/');
    expect(raw(tmux.socket, 'show-environment', '-g')).not.toContain('of-the-caller');
    expect(raw(tmux.socket, 'show-options', '-gv', 'base-index')).toBe('0\n');
  });

  it('ends with its last session, and not before', async () => {
    const tmux = open();
    await start(tmux, 'r-1');
    await start(tmux, 'r-2');
    const server = serverOf(tmux);
    expect(await tmux.end('r-1')).toEqual({ is: 'answered', value: true });
    expect(await tmux.server()).toEqual({ is: 'answered', value: { pid: server.pid } });
    expect(await tmux.end('r-2')).toEqual({ is: 'answered', value: true });
    await eventually('the server is gone', () => !isAlive(server));
    expect(await tmux.server()).toEqual({ is: 'gone' });
  });

  it('is started anew by whoever comes while the last session ends', async () => {
    const tmux = open();
    for (let round = 0; round < 25; round += 1) {
      await start(tmux, `a-${round}`);
      const [, started] = await Promise.all([
        tmux.end(`a-${round}`),
        tmux.start(orderOf(`b-${round}`, ['cat'])),
      ]);
      expect(started.is).toBe('answered');
      remember(tmux.socket, valueOf(await tmux.server()).pid);
      expect(await tmux.end(`b-${round}`)).toEqual({ is: 'answered', value: true });
    }
  });
});

describe('of a session', () => {
  it('everything is said to be gone before there is a server, after it has ended, and after the server was killed', async () => {
    const tmux = open();
    const all = async () => [
      await tmux.pane('r-1'),
      await tmux.capture('r-1', 10),
      await tmux.paste('r-1', 'text'),
      await tmux.press('r-1', 'Enter'),
      await tmux.end('r-1'),
    ];
    const gone = Array.from({ length: 5 }, () => ({ is: 'gone' }));
    expect(await all()).toEqual(gone);
    await start(tmux, 'r-0');
    await start(tmux, 'r-1');
    const { pid } = valueOf(await tmux.pane('r-1'));
    const program = see(pid);
    expect(await tmux.end('r-1')).toEqual({ is: 'answered', value: true });
    expect(await all()).toEqual(gone);
    await eventually('its program is gone', () => !isAlive(program));
    const server = serverOf(tmux);
    signalSeen(server, 'SIGKILL');
    await eventually('the server is gone', () => !isAlive(server));
    expect([...(await all()), await tmux.server()]).toEqual([...gone, { is: 'gone' }]);
  });

  it('nothing is said or done to another one whose name begins the same', async () => {
    const tmux = open();
    const { pid } = await start(tmux, 'foobar');
    expect([
      await tmux.pane('foo'),
      await tmux.capture('foo', 0),
      await tmux.paste('foo', 'text'),
      await tmux.press('foo', 'C-c'),
      await tmux.end('foo'),
    ]).toEqual(Array.from({ length: 5 }, () => ({ is: 'gone' })));
    expect(valueOf(await tmux.pane('foobar')).pid).toBe(pid);
    expect(valueOf(await tmux.capture('foobar', 0)).trim()).toBe('');
    expect(raw(tmux.socket, 'list-buffers')).toBe('');
  });

  it('the end of its program is its end', async () => {
    const tmux = open();
    await start(tmux, 'r-0');
    await start(tmux, 'r-1', ['sh', '-c', 'read line']);
    await tmux.press('r-1', 'Enter');
    await eventually('it is gone', async () => (await tmux.pane('r-1')).is === 'gone');
  });

  it('the first pane is meant, whatever was opened beside it', async () => {
    const tmux = open();
    const { pid } = await start(tmux, 'r-1');
    raw(tmux.socket, 'split-window', '-t', '=r-1:', 'cat');
    raw(tmux.socket, 'new-window', '-t', '=r-1:', 'cat');
    expect(valueOf(await tmux.pane('r-1')).pid).toBe(pid);
  });

  it.each([
    ['a title', '2', 'a title'],
    ['commas, quotes and formats', '0', `7,1,1,1,1,"it's" #{pid} #[x] %H \\n`],
    ['other scripts', '2', '✳ grüße 🎈'],
  ])('the title that its program sets is told: %s', async (_, code, title) => {
    const tmux = open();
    const script = `$| = 1; <STDIN>; print "\\e]$ARGV[0];$ARGV[1]\\a"; sleep 1000`;
    const { pid } = await start(tmux, 'r-1', ['perl', '-e', script, code, title]);
    const pane = { pid, isDead: false, isInMode: false, attachedClients: 0, bracketedPaste: 'unknown' };
    const facts = async () => ({ ...valueOf(await tmux.pane('r-1')), bracketedPaste: 'unknown' });
    expect(await facts()).toEqual({ ...pane, title: '' });
    await tmux.press('r-1', 'Enter');
    await eventually('a title', async () => (await facts()).title !== '');
    expect(await facts()).toEqual({ ...pane, title });
  });

  it('the screen is told, and as much of the past as is asked for', async () => {
    const tmux = open();
    await start(tmux, 'r-1', ['sh', '-c', 'seq 1 500; echo end; cat'], { rows: 10 });
    const lines = async (history: number) =>
      valueOf(await tmux.capture('r-1', history))
        .trimEnd()
        .split('\n');
    await eventually('all of it', async () => (await lines(0)).includes('end'));
    expect(await lines(0)).toEqual(['493', '494', '495', '496', '497', '498', '499', '500', 'end']);
    expect((await lines(3)).slice(0, 4)).toEqual(['490', '491', '492', '493']);
    expect(await lines(100_000)).toEqual([
      ...Array.from({ length: 500 }, (_, index) => String(index + 1)),
      'end',
    ]);
  });

  it('what is not ASCII is told as it is, in no locale at all', async () => {
    vi.stubEnv('LC_ALL', 'C');
    vi.stubEnv('LANG', undefined);
    const tmux = open();
    await start(tmux, 'r-1', ['sh', '-c', String.raw`printf 'grüße 🎈 日本\033]2;é✳\a'; cat`]);
    await eventually('the title', async () => valueOf(await tmux.pane('r-1')).title === 'é✳');
    expect(valueOf(await tmux.capture('r-1', 0)).trimEnd()).toBe('grüße 🎈 日本');
  });

  it('everything that it writes is in its log, from the first byte, in a file that nobody else can read', async () => {
    const logPath = path(`it's #{pid}#[x] %H "$HOME" é.log`);
    const script = `$| = 1; print "first\\n"; print "$_\\n" for 1..50000; print "last\\n"; sleep 1000`;
    await start(open(), 'r-1', ['perl', '-e', script], { logPath });
    const log = await contentOf(logPath, (text) => text.endsWith('last\r\n'));
    const numbers = Array.from({ length: 50_000 }, (_, index) => String(index + 1));
    expect(log.split('\r\n')).toEqual(['first', ...numbers, 'last', '']);
    expect(statSync(logPath).mode & 0o777).toBe(0o600);
  });
});

describe('who attaches', () => {
  it('sees the session, is counted, can leave, and cannot open anything beside it', async () => {
    vi.stubEnv('TMUX', '/nowhere,1,0');
    const tmux = open();
    await start(tmux, 'r-1', ['sh', '-c', 'echo inside; cat']);
    const { argv, environment } = tmux.attachCommand('r-1');
    expect(environment).not.toHaveProperty('TMUX');
    // The terminal of the person is a pane too.
    await start(tmux, 'person', argv, { environment: { ...environment, TERM: terminalName() } });
    await eventually('it is shown', async () => valueOf(await tmux.capture('person', 0)).includes('inside'));
    expect(valueOf(await tmux.pane('r-1')).attachedClients).toBe(1);
    // Else tmux takes keys that come this fast for a paste, in which none has a meaning.
    raw(tmux.socket, 'set-option', '-g', 'assume-paste-time', '0');
    raw(tmux.socket, 'send-keys', '-t', '=person:0.0', 'C-b', '%', 'C-b', 'c', 'C-b', '[');
    await eventually('it scrolls', async () => valueOf(await tmux.pane('r-1')).isInMode);
    expect(raw(tmux.socket, 'list-panes', '-s', '-t', '=r-1', '-F', '#{pane_index}')).toBe('0\n');
    raw(tmux.socket, 'send-keys', '-t', '=person:0.0', 'C-b', 'd');
    await eventually('the person has left', async () => (await tmux.pane('person')).is === 'gone');
    expect(valueOf(await tmux.pane('r-1')).attachedClients).toBe(0);
  });
});

describe('what cannot work is said at once', () => {
  it('where there is no tmux, with what to install', () => {
    expect(() => findTmux(`/nowhere:${path('.')}`)).toThrow(ReeveError);
  });

  it('where a tmux is not executable, by taking the next', () => {
    writeFileSync(path('tmux'), '');
    expect(findTmux(`${path('.')}:${process.env['PATH']}`)).toBe(findTmux());
  });

  it.each([`/tmp/${'x'.repeat(103)}`, `/tmp/${'é'.repeat(60)}`, 'relative'])('of the socket %s', (socket) => {
    expect(() => openTmux(socket)).toThrow(ReeveError);
  });

  it.each([[[]], [['a=b']]])('of the command %j', async (argv) => {
    await expect(open().start(orderOf('r-1', argv))).rejects.toThrow();
  });

  it('by falling back where the system does not know the terminal', () => {
    expect(terminalName(['/nowhere'])).toBe('screen-256color');
    mkdirSync(path('74'));
    writeFileSync(path('74/tmux-256color'), '');
    expect(terminalName([path('.')])).toBe('tmux-256color');
  });
});
