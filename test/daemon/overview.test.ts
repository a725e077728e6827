/** The list as a page needs it: what each session holds, where it stands, and what comes after it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OverviewView, SessionDetailView, TreeView } from '../../src/api/http-views.ts';
import { launchIn } from '../support/launch.ts';
import { eventually, signalSeen } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon } from './support.ts';
import type { Daemon } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeEach(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
});
afterEach(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

const list = async (query = '') => (await daemon.ask('GET', `/v1/sessions${query}`)).json<OverviewView>();
/** What is a process's own: the program's text is shared by all that execute it. */
const ownBytes = (pid: number) =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
const ended = (name: string) =>
  eventually(`${name} has ended`, async () => (await sandbox.show(name)).run.state === 'ended');

it('the memory of a session is that of its whole tree, grandchildren and orphans too', async () => {
  // A parent that leaves at once: what it started belongs to the run all the same.
  const script =
    '(setsid perl -e \'my $x = "y" x 40_000_000; open my $f, ">", "orphan"; print $f "$$\\n"; close $f; sleep 60\' &) ; ' +
    'perl -e \'if (fork) { sleep 60 } else { my $x = "y" x 40_000_000; open my $f, ">", "child"; print $f "$$\\n"; close $f; sleep 60 }\'';
  const { run } = await launchIn(sandbox, 'a', 'sh', '-c', script);
  const [orphan, child] = [await sandbox.pidFrom('orphan'), await sandbox.pidFrom('child')];
  const { processes } = (await daemon.ask('GET', '/v1/sessions/a/tree')).json<TreeView>();
  const pids = processes.map(({ pid }) => pid);
  expect(pids).toEqual(expect.arrayContaining([orphan.pid, child.pid, run.pid]));
  const [row] = (await list()).sessions;
  const sum = [...new Set([...pids, run.keeperPid ?? 0])].reduce((bytes, pid) => bytes + ownBytes(pid), 0);
  expect(row?.memoryBytes).toBeGreaterThan(80_000_000);
  // They all sleep, so what they hold stays nearly the same from one look to the next.
  expect(Math.abs((row?.memoryBytes ?? 0) - sum)).toBeLessThan(1_000_000);
  const detail = (await daemon.ask('GET', '/v1/sessions/a')).json<SessionDetailView>();
  expect(Math.abs((detail.memoryBytes ?? 0) - sum)).toBeLessThan(1_000_000);
});

it('a live session has the branch of its directory, an ended one neither branch nor memory', async () => {
  execFileSync('git', ['init', '--quiet', '--initial-branch', 'here'], {
    cwd: sandbox.root,
    env: { PATH: process.env['PATH'] ?? '', HOME: sandbox.root },
  });
  await launchIn(sandbox, 'a', 'sleep', '60');
  const [live] = (await list()).sessions;
  expect(live).toMatchObject({ branch: 'here', memoryBytes: expect.any(Number) });
  await sandbox.json(['kill', 'a']);
  const [over] = (await list()).sessions;
  expect(over).toMatchObject({ branch: null, memoryBytes: null, status: 'stopped' });
  expect((await daemon.ask('GET', '/v1/sessions/a/tree')).json()).toEqual({
    run: over?.run.id,
    processes: [],
  });
});

it('only the sessions of the given ids are told, each once, and what is none is left out', async () => {
  await launchIn(sandbox, 'a', 'sleep', '60');
  await launchIn(sandbox, 'b', 'sleep', '60');
  await sandbox.reeve(['run', '-s', 'c', '--', 'true']);
  const [a, c] = [await sandbox.show('a'), await sandbox.show('c')];
  const wanted = ['', a.id, 's-none', c.id, a.id, 'a', `${a.id}%00x`, '%27%20or%201=1--', a.run.id];
  const { sessions, earlier } = await list(`?ids=${wanted.join(',')}`);
  expect({ names: sessions.map(({ name }) => name), earlier }).toEqual({ names: ['a', 'c'], earlier: 0 });
  expect((await list('?ids=')).sessions).toEqual([]);
});

it('live, recent and all are what they say, and the rest is counted', async () => {
  await launchIn(sandbox, 'live', 'sleep', '60');
  const names = Array.from({ length: 53 }, (_, index) => `s${index}`);
  for (const name of names) {
    await daemon.ask('POST', '/v1/run', { body: { argv: ['true'], session: name, cwd: sandbox.root } });
  }
  await eventually('all have ended', async () => (await list('?range=live')).sessions.length === 1);
  const counts = async (range: string) => {
    const { sessions, earlier } = await list(`?range=${range}`);
    return { sessions: sessions.length, earlier };
  };
  // Told by the events, and counted anew when the figures are asked for.
  for (const recounts of [0, 1]) {
    if (recounts === 1) await daemon.ask('GET', '/metrics');
    await eventually('the rest is counted', async () => (await counts('live')).earlier === 53);
    expect([await counts('live'), await counts('recent'), await counts('all')]).toEqual([
      { sessions: 1, earlier: 53 },
      { sessions: 51, earlier: 3 },
      { sessions: 54, earlier: 0 },
    ]);
  }
  await sandbox.json(['rm', 's0', 's1']);
  await sandbox.reeve(['resume', '--detach', 's2', '--', 'sleep', '60']);
  await eventually('what went is not counted', async () => (await counts('live')).earlier === 50);
  await daemon.restart();
  await eventually('the next one counts the same', async () => (await counts('live')).earlier === 50);
});

it('the number of a list and the events behind it miss nothing between them', async () => {
  expect((await list()).seq).toBe(0);
  await launchIn(sandbox, 'a', 'sleep', '60');
  const { seq } = await list();
  const before = (await daemon.ask('GET', '/v1/events')).json<{ events: { seq: number }[] }>().events;
  expect(before.at(-1)?.seq).toBe(seq);
  await sandbox.json(['kill', 'a']);
  const since = (await daemon.ask('GET', `/v1/events?after=${seq}`)).json<{
    events: { seq: number; kind: string; session: string }[];
    next: number | null;
  }>();
  expect(since.events.map(({ seq: at }) => at)).toEqual(
    Array.from({ length: since.events.length }, (_, index) => seq + 1 + index),
  );
  expect(since.events.at(-1)).toMatchObject({ kind: 'run.ended', session: 'a' });
  expect(since.next).toBeNull();
});

it('what died without a word is found by looking at the list', async () => {
  const { keeper, harness } = await launchIn(sandbox, 'a', 'sleep', '60');
  signalSeen(keeper, 'SIGKILL');
  signalSeen(harness, 'SIGKILL');
  await ended('a');
  expect((await list()).sessions[0]).toMatchObject({ status: 'lost', memoryBytes: null });
});

it('the runs that a session’s run started are its children, with the run that started them', async () => {
  const start = `${process.execPath} ${CLI} run --detach -s child -- sleep 60 && sleep 60`;
  const { run } = await launchIn(sandbox, 'parent', 'sh', '-c', start);
  const children = await eventually('the child', async () => {
    const shown = (await daemon.ask('GET', '/v1/sessions/parent')).json<SessionDetailView>();
    return shown.children[0]?.run.pid != null && shown.children;
  });
  expect(children).toMatchObject([
    { session: 'child', parent: run.id, argv: ['sleep', '60'], run: { state: 'running', liveness: 'alive' } },
  ]);
  await sandbox.json(['kill', 'child']);
  const after = (await daemon.ask('GET', '/v1/sessions/parent')).json<SessionDetailView>();
  expect(after.children).toMatchObject([{ session: 'child', run: { outcome: 'stopped', liveness: 'dead' } }]);
  expect((await daemon.ask('GET', '/v1/sessions/child')).json<SessionDetailView>().children).toEqual([]);
});
