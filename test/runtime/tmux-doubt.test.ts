/** A tmux that is slow, stopped or out of its mind: the answer is unknown, never gone. */
import { chmodSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTmux } from '../../src/runtime/tmux.ts';
import type { Tmux } from '../../src/runtime/tmux.ts';
import { eventually, isExecuting, signalSeen } from '../support/processes.ts';
import {
  cleanUp,
  contentOf,
  open,
  openFake,
  orderOf,
  path,
  prepare,
  remember,
  serverOf,
  startRecorder,
  valueOf,
} from './own-server.ts';

beforeEach(prepare);
afterEach(cleanUp);

const UNKNOWN = { is: 'unknown', because: expect.stringMatching(/./) };

function askEverything(tmux: Tmux): Promise<unknown[]> {
  return Promise.all([
    tmux.server(),
    tmux.start(orderOf('r-2', ['cat'])),
    tmux.pane('r-1'),
    tmux.capture('r-1', 0),
    tmux.paste('r-1', 'too late'),
    tmux.press('r-1', 'Up'),
    tmux.end('r-3'),
  ]);
}
const ALL_UNKNOWN = Array.from({ length: 7 }, () => UNKNOWN);

describe('of a server that is stopped', () => {
  it('nothing is known, and it works on when it is continued', async () => {
    const tmux = open();
    const file = await startRecorder(tmux, 'r-1', 'off');
    const server = serverOf(tmux);
    signalSeen(server, 'SIGSTOP');
    expect(await askEverything(open(300))).toEqual(ALL_UNKNOWN);
    signalSeen(server, 'SIGCONT');
    expect(await tmux.server()).toEqual({ is: 'answered', value: { pid: server.pid } });
    expect((await tmux.pane('r-1')).is).toBe('answered');
    // Neither the session nor the text of which it had only heard the beginning.
    expect(await tmux.pane('r-2')).toEqual({ is: 'gone' });
    await tmux.press('r-1', 'Enter');
    // The key may have been on its way already.
    const read = await contentOf(file, (text) => text.includes('\r'));
    expect(read.replaceAll('\u001B[A', '')).toBe('\r');
  });
});

describe('of a tmux that', () => {
  it('says nothing within the limit, nothing is known, and its process is ended', async () => {
    // It ends with this process at the latest, should nobody else end it.
    const hang = `exec tail --pid=${process.pid} -f /dev/null`;
    const tmux = openFake(`echo $$ >> ${path('pids')}; ${hang}`, 1_000);
    expect(await askEverything(tmux)).toEqual(ALL_UNKNOWN);
    const pids = (await contentOf(path('pids'), (text) => text !== '')).trim().split('\n').map(Number);
    expect(pids.length).toBeGreaterThan(0);
    await eventually('its processes are gone', () => !pids.some(isExecuting));
  });

  it('answers with garbage, nothing is known of what was asked for', async () => {
    const tmux = openFake('cat > /dev/null; echo "7,x,garbage"');
    expect(await tmux.server()).toEqual(UNKNOWN);
    expect(await tmux.pane('r-1')).toEqual(UNKNOWN);
    expect(await tmux.start(orderOf('r-1', ['cat']))).toEqual(UNKNOWN);
  });

  it('answers with nothing, nothing is known of what was asked for', async () => {
    const tmux = openFake('exec cat > /dev/null');
    expect(await tmux.server()).toEqual(UNKNOWN);
    expect(await tmux.pane('r-1')).toEqual(UNKNOWN);
    expect(await tmux.start(orderOf('r-1', ['cat']))).toEqual(UNKNOWN);
  });

  it('answers without end, nothing is known', async () => {
    const tmux = openFake('exec cat /dev/zero');
    expect(await tmux.capture('r-1', 0)).toEqual(UNKNOWN);
  });

  it.each([
    ['fails without a word', 'exit 1'],
    ['is killed', 'kill -9 $$'],
    ['may not connect', 'echo "error connecting to $3 (Permission denied)" >&2; exit 1'],
    ['loses its server', 'echo "server exited unexpectedly" >&2; exit 1'],
    ['speaks another protocol', 'echo "protocol version mismatch (client 8, server 7)" >&2; exit 1'],
    ['knows no such option', `echo "command list-panes: unknown flag -f" >&2; exit 1`],
    ['is killed with a misleading word', `echo "can't find session: r-1" >&2; kill -9 $$`],
    ['speaks of another socket', 'echo "no server running on /elsewhere" >&2; exit 1'],
  ])('%s, nothing is known', async (_, script) => {
    expect(await askEverything(openFake(script))).toEqual(ALL_UNKNOWN);
  });

  it.each([
    ['no server running on $3'],
    ['error connecting to $3 (No such file or directory)'],
    ['error connecting to $3 (Connection refused)'],
    ["can't find session: r-1"],
    ["can't find window: 0"],
    ["can't find pane: 0"],
  ])('says "%s", the session is gone', async (complaint) => {
    expect(await openFake(`echo "${complaint}" >&2; exit 1`).pane('r-1')).toEqual({ is: 'gone' });
  });

  it('can no longer be executed, nothing is known', async () => {
    const tmux = openFake('exit 0');
    chmodSync(path('bin/tmux'), 0o644);
    expect(await askEverything(tmux)).toEqual(ALL_UNKNOWN);
  });

  it('met a server on its way out, a start is tried again', async () => {
    const tmux = openFake(
      `if mkdir ${path('once')} 2> /dev/null; then echo "server exited unexpectedly" >&2; exit 1; fi; exec REAL_TMUX "$@"`,
    );
    const started = valueOf(await tmux.start(orderOf('r-1', ['cat'])));
    remember(tmux.socket, valueOf(await tmux.server()).pid);
    expect(valueOf(await tmux.pane('r-1')).pid).toBe(started.pid);
  });
});

it('of a socket that cannot be reached nothing is known', async () => {
  writeFileSync(path('file'), '');
  expect(await askEverything(openTmux(path('file/socket')))).toEqual(ALL_UNKNOWN);
});
