/** What `scan` tells of the harnesses on this machine. Others may run here too: only the test's own are asserted on. */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import type { Leftover, Scan, ScannedHarness } from '../../src/supervisor/scan.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex', 'gemini', 'opencode', 'code');
});
afterEach(async () => {
  standIns.endOutsiders();
  await sandbox.cleanUp();
});

const scanned = () => sandbox.json<Scan>(['scan']);
const harnessOf = (scan: Scan, { pid }: Pick<Seen, 'pid'>): ScannedHarness | undefined =>
  scan.harnesses.find((each) => each.pid === pid);
const leftoverOf = (scan: Scan, { pid }: Pick<Seen, 'pid'>): Leftover | undefined =>
  scan.leftovers.find((each) => each.pid === pid);

describe('a harness that somebody started', () => {
  it('is unmanaged, with its conversation, command, directory and since when', async () => {
    const nativeId = randomUUID();
    const beforeMs = Date.now();
    const outsider = await standIns.outsider('claude', ['--resume', nativeId]);
    const found = harnessOf(await scanned(), outsider);
    expect(found).toEqual({
      pid: outsider.pid,
      harness: 'claude',
      nativeId,
      state: 'unmanaged',
      session: null,
      run: null,
      duplicates: [],
      argv: [expect.stringMatching(/claude$/), '--resume', nativeId],
      cwd: sandbox.root,
      since: expect.any(String) as unknown,
      evidence: 'its command line',
    });
    // The time of the boot is known to the second only.
    expect(Math.abs(Date.parse(found?.since ?? '') - beforeMs)).toBeLessThan(3_000);
  });

  it.each([
    ['codex', ['resume', randomUUID()]],
    ['code', ['resume', randomUUID()]],
    ['gemini', ['--resume', randomUUID()]],
    ['opencode', ['--session', `ses_${randomUUID()}`]],
  ] as const)('is found when it is %s', async (name, args) => {
    const outsider = await standIns.outsider(name, args, { script: '' });
    expect(harnessOf(await scanned(), outsider)).toMatchObject({
      harness: name,
      nativeId: args[1],
      state: 'unmanaged',
    });
  });

  it('is found also when its conversation cannot be told', async () => {
    const outsiders = [await standIns.outsider('claude', []), await standIns.outsider('claude', [])];
    const scan = await scanned();
    // Two of which nothing is known are not the same.
    for (const outsider of outsiders)
      expect(harnessOf(scan, outsider)).toMatchObject({ nativeId: null, duplicates: [] });
  });

  it('once too often for one conversation is a duplicate of the other, and only that one', async () => {
    const nativeId = randomUUID();
    const first = await standIns.outsider('claude', ['--resume', nativeId]);
    const second = await standIns.outsider('claude', ['--resume', nativeId]);
    const other = await standIns.outsider('claude', ['--resume', randomUUID()]);
    const scan = await scanned();
    expect([first, second, other].map((each) => [...(harnessOf(scan, each)?.duplicates ?? [-1])])).toEqual([
      [second.pid],
      [first.pid],
      [],
    ]);
    const { stdout } = await sandbox.reeve(['scan']);
    const lines = stdout.split('\n').filter((line) => line.includes(nativeId) && line.includes('pid'));
    expect(lines.filter((line) => line.includes(`DUPLICATE of pid ${first.pid}`))).toHaveLength(1);
    expect(lines.filter((line) => line.includes(`DUPLICATE of pid ${second.pid}`))).toHaveLength(1);
  });

  it('with the same conversation id as another harness’s is no duplicate of that', async () => {
    const nativeId = randomUUID();
    const claude = await standIns.outsider('claude', ['--resume', nativeId]);
    const codex = await standIns.outsider('codex', ['resume', nativeId], { script: '' });
    const scan = await scanned();
    expect(harnessOf(scan, claude)?.duplicates).toEqual([]);
    expect(harnessOf(scan, codex)?.duplicates).toEqual([]);
  });

  it('is not what only has its name among its arguments', async () => {
    const words = ['-e', 'sleep 60', 'claude', '--resume', randomUUID()];
    const child = spawn('perl', words, { stdio: 'ignore' });
    try {
      expect(harnessOf(await scanned(), { pid: child.pid ?? 0 })).toBeUndefined();
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('a harness of a run', () => {
  it('is managed, and names its session', async () => {
    const { run, nativeId } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
    await standIns.ready(run.pid);
    expect(harnessOf(await scanned(), { pid: run.pid ?? 0 })).toMatchObject({
      state: 'managed',
      session: 'a',
      run: run.id,
      nativeId,
    });
  });

  it('that was adopted is managed too', async () => {
    const outsider = await standIns.outsider('claude', ['--resume', randomUUID()]);
    const { run } = await sandbox.json<SessionView>(['adopt', '-s', 'a', String(outsider.pid)]);
    expect(harnessOf(await scanned(), outsider)).toMatchObject({
      state: 'managed',
      session: 'a',
      run: run.id,
    });
  });

  it('started by a tool of it is nested in it, also when its parents or its marks are gone', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
    const [child, orphan, wiped] = [randomUUID(), randomUUID(), randomUUID()];
    const bare = `PATH=${sandbox.env['PATH']} HOME=${sandbox.root} STAND_IN_DIR=${sandbox.env['STAND_IN_DIR']}`;
    const start = (id: string, file: string) =>
      `echo $$ > ${sandbox.path(file)}; STAND_IN_SCRIPT= exec codex resume ${id}`;
    await standIns.tell(run.pid, `tool sh -c '${start(child, 'child')}'`);
    await standIns.tell(run.pid, `tool (setsid sh -c '${start(orphan, 'orphan')}' &)`);
    await standIns.tell(run.pid, `tool exec env -i ${bare} sh -c '${start(wiped, 'wiped')}'`);
    for (const [file, id] of [
      ['wiped', wiped],
      ['child', child],
      ['orphan', orphan],
    ] as const) {
      const nested = await sandbox.pidFrom(file);
      const found = await eventually('it is found', async () => harnessOf(await scanned(), nested));
      expect(found).toMatchObject({ state: 'nested', session: 'a', run: run.id, nativeId: id });
    }
  });
});

describe('what a harness left behind', () => {
  it('is named with the mark of the one that started it, once that is gone, and not before', async () => {
    const outsider = await standIns.outsider('claude', ['--resume', randomUUID()]);
    await standIns.tell(outsider.pid, `daemon ${sandbox.path('left')}`);
    const left = await sandbox.pidFrom('left');
    expect(leftoverOf(await scanned(), left)).toBeUndefined();
    signalSeen(outsider, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(outsider));
    const scan = await scanned();
    expect(leftoverOf(scan, left)).toEqual({
      pid: left.pid,
      name: 'sleep',
      argv: ['sleep', '120'],
      since: expect.any(String) as unknown,
      mark: `CLAUDE_PID=${outsider.pid}`,
    });
    expect((await sandbox.reeve(['scan'])).stdout).toMatch(
      new RegExp(`^leftover +pid ${left.pid} .*CLAUDE_PID=${outsider.pid}$`, 'm'),
    );
    expect(isAlive(left)).toBe(true);
  });

  it('is the topmost of what it left, and nothing below that', async () => {
    const outsider = await standIns.outsider('claude', ['--resume', randomUUID()]);
    const script = `echo $$ > ${sandbox.path('top')}; sleep 60 & echo $! > ${sandbox.path('below')}; wait`;
    await standIns.tell(outsider.pid, `tool (setsid sh -c '${script}' &)`);
    const [top, below] = [await sandbox.pidFrom('top'), await sandbox.pidFrom('below')];
    signalSeen(outsider, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(outsider));
    const scan = await scanned();
    expect([leftoverOf(scan, top)?.pid, leftoverOf(scan, below)?.pid]).toEqual([top.pid, undefined]);
  });

  it('is not what a living one started, whatever marks it has from elsewhere', async () => {
    const outsider = await standIns.outsider('codex', ['resume', randomUUID()], {
      script: '',
      // No pid is as great.
      env: { CLAUDE_PID: '99999999' },
    });
    await standIns.tell(outsider.pid, `tool echo $$ > ${sandbox.path('tool')}; exec sleep 60`);
    expect(leftoverOf(await scanned(), await sandbox.pidFrom('tool'))).toBeUndefined();
  });

  it('of Codex is told by the conversation', async () => {
    const nativeId = randomUUID();
    const outsider = await standIns.outsider('codex', ['resume', nativeId], { script: '' });
    await standIns.tell(outsider.pid, `daemon ${sandbox.path('left')}`);
    const left = await sandbox.pidFrom('left');
    expect(leftoverOf(await scanned(), left)).toBeUndefined();
    signalSeen(outsider, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(outsider));
    expect(leftoverOf(await scanned(), left)?.mark).toBe(`CODEX_THREAD_ID=${nativeId}`);
  });

  it('is nobody’s while its run lives', async () => {
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
    await standIns.tell(run.pid, `daemon ${sandbox.path('left')}`);
    expect(leftoverOf(await scanned(), await sandbox.pidFrom('left'))).toBeUndefined();
  });

  it('of a run is told by the run’s mark, unless it is of another state directory', async () => {
    const stray = (home: string) =>
      spawn('sleep', ['60'], {
        env: { PATH: process.env['PATH'], REEVE_RUN: 'r-of-nobody', REEVE_HOME: home },
        detached: true,
        stdio: 'ignore',
      });
    const [ours, theirs] = [stray(sandbox.home), stray('/somewhere/else')];
    try {
      const scan = await scanned();
      expect(leftoverOf(scan, { pid: ours.pid ?? 0 })?.mark).toBe('REEVE_RUN=r-of-nobody');
      expect(leftoverOf(scan, { pid: theirs.pid ?? 0 })).toBeUndefined();
    } finally {
      for (const each of [ours, theirs]) each.kill('SIGKILL');
    }
  });
});

it('signals nobody, claims nothing, and is one JSON value', async () => {
  const outsiders = [
    await standIns.outsider('claude', ['--resume', randomUUID()]),
    await standIns.outsider('codex', ['resume', randomUUID()], { script: '' }),
  ];
  const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'claude']);
  const before = await sandbox.show('a');
  await scanned();
  expect((await sandbox.reeve(['scan'])).code).toBe(0);
  expect([...outsiders, see(run.pid ?? 0)].filter((each) => !isAlive(each))).toEqual([]);
  expect((await sandbox.show('a')).runs).toEqual(before.runs);
  expect(await sandbox.list()).toHaveLength(1);
});

it('shows no control characters of a command line', async () => {
  const outsider = await standIns.outsider('claude', ['--resume', randomUUID(), 'red \u001B[31m\nline']);
  const { stdout } = await sandbox.reeve(['scan']);
  expect(stdout).toContain(`pid ${outsider.pid}`);
  expect(stdout).not.toContain('\u001B');
});
