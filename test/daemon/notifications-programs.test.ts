/** Notifications through programs: a command that fails, hangs or forks, the desktop's own, and the bell. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, groupOf, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { asks, createStage, failed, NOW_MS, WEB } from './stage.ts';
import type { Stage } from './stage.ts';

let stage: Stage;
beforeEach(() => {
  stage = createStage();
});
const seen: Seen[] = [];
afterEach(async () => {
  for (const process of seen.splice(0)) signalSeen(process, 'SIGKILL');
  await stage.cleanUp();
});

/** So that it is gone after the test, even after one that failed. */
function watch(pid: number): Seen {
  const process = see(pid);
  seen.push(process);
  return process;
}

const path = (name: string) => join(stage.root, name);
const readIfThere = (name: string) => (existsSync(path(name)) ? readFileSync(path(name), 'utf8') : '');
const written = (name: string, pattern: RegExp) =>
  eventually(`${name} has ${pattern}`, () => pattern.exec(readIfThere(name))?.[0]);
const waits = (name: string, count: number) =>
  eventually(`${count} wait for ${name}`, () => stage.kept().queues[name]?.waiting.length === count);
const shell = (script: string, ...words: string[]) => ['/bin/sh', '-c', script, 'sh', ...words];

/** A program of that name, first on the PATH. */
function install(name: string, script: string): Record<string, string> {
  writeFileSync(path(name), `#!/bin/sh\n${script}\n`);
  chmodSync(path(name), 0o755);
  return { PATH: `${stage.root}:${process.env['PATH'] ?? ''}`, HOME: stage.root };
}

describe('a command', () => {
  it('gets the message on its input and in its environment, beside all that the daemon has in its own', async () => {
    const script = `cat > "$1/input"; env | grep -E '^(REEVE_EVENT_|KEEP)' | sort > "$1/env.new"; mv "$1/env.new" "$1/env"`;
    const notifier = stage.open(
      { command: shell(script, stage.root) },
      { environment: { PATH: process.env['PATH'], KEEP: 'this' } },
    );
    notifier.take(asks(5));
    await written('env', /KEY/);
    expect(readIfThere('env').trim().split('\n')).toEqual([
      'KEEP=this',
      'REEVE_EVENT_KEY=5',
      'REEVE_EVENT_NEXT=Answer: reeve attach web',
      'REEVE_EVENT_RUN=r-1',
      'REEVE_EVENT_SESSION=web',
      'REEVE_EVENT_STATUS=needs-input',
      'REEVE_EVENT_TEXT=web needs input. It waits for permission to use Bash. Answer: reeve attach web',
    ]);
    expect(JSON.parse(readIfThere('input'))).toEqual({
      key: 5,
      status: 'needs-input',
      session: 'web',
      sessionId: 's-1',
      run: 'r-1',
      harness: 'claude',
      directory: '/src/web',
      at: new Date(NOW_MS).toISOString(),
      text: 'web needs input. It waits for permission to use Bash. Answer: reeve attach web',
      next: 'Answer: reeve attach web',
      budget: null,
      missed: 0,
    });
    await waits('command', 0);
    expect(notifier.health()).toEqual({ is: 'good', says: 'command' });
  });

  it('is given its words as they are: no shell reads them', async () => {
    const record = install(
      'record',
      `printf '%s\\n' "$@" > "${stage.root}/words.new"; mv "${stage.root}/words.new" "${stage.root}/words"`,
    );
    const words = ['$(touch hacked)', '; exit 1', '*', 'a b'];
    stage.open({ command: ['record', ...words] }, { environment: record }).take(failed(1));
    await written('words', /a b/);
    expect(readIfThere('words').trim().split('\n')).toEqual(words);
  });

  it('is told of a session with control characters in its name, without them', async () => {
    const script =
      'printf %s "$REEVE_EVENT_SESSION: $REEVE_EVENT_TEXT" > "$1/said.new"; mv "$1/said.new" "$1/said"';
    const described = async () => ({ ...WEB, name: 'w\0e\u001bb', cwd: '/' });
    stage.open({ command: shell(script, stage.root) }, { describe: described }).take(failed(1));
    await waits('command', 0);
    expect(readIfThere('said')).toBe('w e b: w e b has failed. It exited with code 3. Look: reeve why w e b');
  });

  it('that does not read its input, and prints without end, is none the worse', async () => {
    const script =
      'exec <&-; i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done';
    const described = async () => ({ ...WEB, cwd: `/${'x'.repeat(1_000_000)}` });
    stage.open({ command: shell(script) }, { describe: described }).take(failed(1));
    await waits('command', 0);
    expect(stage.log).toEqual([]);
  });

  it.each([
    ['exit 7', 'it exited with code 7'],
    ['kill -9 $$', 'it was killed by SIGKILL'],
  ])('that ends by `%s` is tried again', async (ending, because) => {
    const script = `echo x >> "$1/tries"; [ -e "$1/once" ] && exit 0; touch "$1/once"; ${ending}`;
    const notifier = stage.open({ command: shell(script, stage.root) });
    notifier.take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    expect(notifier.health()).toEqual({ is: 'failing', says: `command: ${because} (1 waiting)` });
    await stage.clock.pass(1_000);
    await waits('command', 0);
    expect(readIfThere('tries')).toBe('x\nx\n');
  });

  it.each([
    ['is not there', ['/nowhere/hunter2'], 'it cannot be started (ENOENT)'],
    ['may not be executed', ['/etc/passwd', 'hunter2'], 'it cannot be started (EACCES)'],
  ])('that %s is not tried again', async (_, command, because) => {
    const notifier = stage.open({ command });
    notifier.take(failed(1));
    await waits('command', 0);
    expect([notifier.health(), stage.log, stage.clock.pending()]).toEqual([
      { is: 'failing', says: `command: ${because}` },
      [`notifications: command does not work: ${because}`],
      [],
    ]);
  });

  it('that hangs is killed after the timeout, it alone, and tried again', async () => {
    const script = `
      [ -e "$1/once" ] && exit 0; touch "$1/once"
      perl -e '$SIG{TERM}="IGNORE"; sleep 600' & echo "$$ $!" > "$1/pids.new"; mv "$1/pids.new" "$1/pids"
      wait`;
    stage.open({ command: shell(script, stage.root) }).take(failed(1));
    const [pid = 0, childPid = 0] = (await written('pids', /^\d+ \d+/)).split(' ').map(Number);
    const [program, child] = [watch(pid), watch(childPid)];
    expect([groupOf(pid), groupOf(pid) === groupOf(process.pid)]).toEqual([pid, false]);
    await stage.clock.pass(10_000);
    await eventually('it is gone', () => !isAlive(program));
    expect(isAlive(child)).toBe(true);
    await stage.clock.pass(1_000);
    await waits('command', 0);
    expect(stage.log[0]).toBe('notifications: command does not work: it did not end in time, and was killed');
  });

  it('that leaves somebody behind, who holds its input and output, is done when it ends itself', async () => {
    const script = `sleep 600 & echo "$!" > "$1/pid.new"; mv "$1/pid.new" "$1/pid"; exit 0`;
    stage.open({ command: shell(script, stage.root) }).take(failed(1));
    await waits('command', 0);
    const left = watch(Number(await written('pid', /^\d+/)));
    expect([isAlive(left), stage.log]).toEqual([true, []]);
  });
});

describe('the desktop', () => {
  const record = (name: string) =>
    install(
      name,
      `printf '%s\\n' "$@" > "${stage.root}/words.new"; mv "${stage.root}/words.new" "${stage.root}/words"`,
    );
  const described = async () => ({ ...WEB, name: '-x <b>&', cwd: '/' });

  it('is told by notify-send, with its markup escaped', async () => {
    stage
      .open({ desktop: true }, { environment: record('notify-send'), describe: described })
      .take(failed(1));
    await waits('desktop', 0);
    expect(readIfThere('words').trim().split('\n')).toEqual([
      '--app-name=Reeve',
      '--',
      'Reeve',
      '-x &lt;b&gt;&amp; has failed. It exited with code 3. Look: reeve why -x &lt;b&gt;&amp;',
    ]);
  });

  it('is told by osascript where that is, with the text as an argument of a fixed script', async () => {
    install('osascript', `printf '%s\\n' "$@" > "${stage.root}/words"`);
    // Nothing but this, so that no notify-send of this machine is found.
    const environment = { PATH: stage.root };
    stage.open({ desktop: true }, { environment, describe: described }).take(failed(1));
    await waits('desktop', 0);
    expect(readIfThere('words').trim().split('\n')).toEqual([
      '-e',
      'on run argv',
      '-e',
      'display notification (item 1 of argv) with title "Reeve"',
      '-e',
      'end run',
      '-x <b>& has failed. It exited with code 3. Look: reeve why -x <b>&',
    ]);
  });

  it('is given up where there is neither, nor taken from where the daemon happens to be', async () => {
    install('notify-send', 'exit 0');
    const fromHere = relative(process.cwd(), stage.root);
    const notifier = stage.open({ desktop: true }, { environment: { PATH: `.:${fromHere}` } });
    notifier.take(failed(1));
    await waits('desktop', 0);
    expect(notifier.health()).toEqual({
      is: 'failing',
      says: 'desktop: neither notify-send nor osascript is on the PATH',
    });
  });
});

describe('the bell', () => {
  it('rings on a terminal, once for each', async () => {
    const rings: string[] = [];
    const terminal = { isTTY: true, write: (text: string) => rings.push(text) };
    const notifier = stage.open({ bell: true }, { terminal });
    notifier.take(failed(1));
    notifier.take(failed(2));
    await eventually('it has rung', () => rings.length === 2);
    expect([rings, notifier.health()]).toEqual([['\u0007', '\u0007'], { is: 'good', says: 'bell' }]);
  });

  it('writes nothing to what is no terminal', async () => {
    const rings: string[] = [];
    const notifier = stage.open({ bell: true }, { terminal: { write: (text) => rings.push(text) } });
    notifier.take(failed(1));
    await waits('bell', 0);
    expect([rings, notifier.health()]).toEqual([
      [],
      { is: 'failing', says: 'bell: there is no terminal to ring it on' },
    ]);
  });

  it('that breaks is tried again, and does not end the daemon', async () => {
    const terminal = {
      isTTY: true,
      write: () => {
        throw new Error('EIO hunter2');
      },
    };
    stage.open({ bell: true }, { terminal }).take(failed(1));
    await eventually('it is left alone', () => stage.clock.pending().includes(1_000));
    expect(stage.log).toEqual(['notifications: bell does not work: the attempt broke off unforeseen']);
  });
});
