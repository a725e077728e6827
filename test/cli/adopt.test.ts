/** A harness that somebody started without Reeve, and that is supervised from then on. */
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Check } from '../../src/supervisor/doctor.ts';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { eventsIn, installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { ownersOf, removeDatabase } from '../support/lost-store.ts';
import { eventually, isAlive, parentOf, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { CLI, createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let standIns: StandIns;
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
});
afterEach(async () => {
  await sandbox.cleanUp();
  standIns.endOutsiders();
});

/** Nobody's, so that no process of this machine is theirs. */
const OTHER_USER = 54_321;

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

const outsider = (nativeId: string) => standIns.outsider('claude', ['--resume', nativeId]);
const adopt = ({ pid }: Seen, ...flags: readonly string[]) =>
  sandbox.json<SessionView>(['adopt', ...flags, String(pid)]);
const refused = async (pid: number | string, code: number, ...flags: readonly string[]) =>
  (await sandbox.json<Failure>(['adopt', ...flags, String(pid)], code)).error.code;
const ended = () =>
  eventually<RunView>('its end', async () => {
    const { run } = await sandbox.show('a');
    return run.state === 'ended' && run;
  });

/** Its watcher has looked at least once since: it sleeps after each look. */
async function watcherHasLooked({ run }: SessionView): Promise<void> {
  const sleeps = () =>
    Number(
      /^voluntary_ctxt_switches:\s*(\d+)$/m.exec(
        readFileSync(`/proc/${run.keeperPid}/status`, 'latin1'),
      )?.[1],
    );
  const before = sleeps();
  await eventually('the watcher has looked', () => sleeps() >= before + 2);
}

/** A tool that starts a child in a session of its own, and ends on demand: then the child is an orphan. */
async function plantOrphan(harness: Seen, session: SessionView, child: string): Promise<Seen> {
  const script = `setsid sh -c '${child}' & until [ -e ${sandbox.path('go')} ]; do sleep 0.02; done; echo > ${sandbox.path('over')}`;
  await standIns.tell(harness.pid, `tool ${script}`);
  const orphan = await sandbox.pidFrom('orphan');
  await watcherHasLooked(session);
  writeFileSync(sandbox.path('go'), '');
  await eventually('the tool is over', () => existsSync(sandbox.path('over')));
  return orphan;
}

const writePid = (name: string) => `echo $$ > ${sandbox.path(name)}`;

describe('an adopted harness', () => {
  it('is the owner of a session, which is listed as working', async () => {
    const nativeId = randomUUID();
    const harness = await outsider(nativeId);
    const adopted = await adopt(harness, '-s', 'a');
    expect(adopted).toMatchObject({
      name: 'a',
      harness: 'claude',
      nativeId,
      status: 'working',
      epoch: 1,
      cwd: sandbox.root,
      argv: [expect.stringMatching(/claude$/), '--resume', nativeId],
      run: { mode: 'adopted', state: 'running', pid: harness.pid, liveness: 'alive', logPath: null },
    });
    expect(await sandbox.list()).toMatchObject([
      { name: 'a', status: 'working', run: { id: adopted.run.id } },
    ]);
    expect(isAlive(harness)).toBe(true);
    const again = ['run', '--detach', '-s', 'a', '--', 'claude', '--resume', nativeId];
    expect((await sandbox.json<Failure>(again, 4)).error.code).toBe('live_owner');
    const elsewhere = ['run', '--detach', '--', 'claude', '--resume', nativeId];
    expect((await sandbox.json<Failure>(elsewhere, 4)).error.code).toBe('live_owner');
  });

  it('gets a name when none is given, and for people a sentence', async () => {
    const harness = await outsider(randomUUID());
    const { code, stdout } = await sandbox.reeve(['adopt', String(harness.pid)]);
    expect(code).toBe(0);
    const [session] = await sandbox.list();
    expect(session?.name).toMatch(/-claude$/);
    expect(stdout).toMatch(new RegExp(`^${session?.name}: pid ${harness.pid} .*${session?.run.id}.*\\.\\n$`));
  });

  it('beside another in the same directory gets a name of its own', async () => {
    const [first, second] = [await outsider(randomUUID()), await outsider(randomUUID())];
    const names = [(await adopt(first)).name, (await adopt(second)).name];
    expect(names[1]).toBe(`${names[0]}-2`);
  });

  it('that ends is lost, for how it ended cannot be known, and its watcher puts that on record', async () => {
    const harness = await outsider(randomUUID());
    const { run } = await adopt(harness, '-s', 'a');
    const watcher = see(run.keeperPid ?? 0);
    signalSeen(harness, 'SIGTERM');
    const event = await eventually('its end is on record', () => eventsIn(sandbox, 'run.ended')[0]);
    expect(event.data).toMatchObject({
      outcome: 'lost',
      actor: 'keeper',
      reason: expect.stringContaining('adopted while it was running') as unknown,
      exitCode: null,
      signal: null,
    });
    await eventually('its watcher is gone', () => !isAlive(watcher));
    expect((await sandbox.show('a')).status).toBe('lost');
  });

  it('takes along what it started, also what had lost its parents before', async () => {
    const harness = await outsider(randomUUID());
    const session = await adopt(harness, '-s', 'a');
    await standIns.tell(harness.pid, `tool ${writePid('tool')}; exec sleep 60`);
    const tool = await sandbox.pidFrom('tool');
    const orphan = await plantOrphan(harness, session, `${writePid('orphan')}; exec sleep 60`);
    signalSeen(harness, 'SIGKILL');
    expect((await ended()).outcome).toBe('lost');
    expect([harness, tool, orphan].filter(isAlive)).toEqual([]);
  });

  it('takes along what it had left behind before it was adopted, by its mark alone', async () => {
    const harness = await outsider(randomUUID());
    await standIns.tell(harness.pid, `daemon ${sandbox.path('orphan')}`);
    const orphan = await sandbox.pidFrom('orphan');
    await adopt(harness, '-s', 'a');
    signalSeen(harness, 'SIGKILL');
    expect((await ended()).outcome).toBe('lost');
    expect(isAlive(orphan)).toBe(false);
  });

  it('does not take along who bears its mark and was started after it: that may be another’s, and is named', async () => {
    const harness = await outsider(randomUUID());
    const { run } = await adopt(harness, '-s', 'a');
    const watcher = see(run.keeperPid ?? 0);
    signalSeen(watcher, 'SIGSTOP');
    signalSeen(harness, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(harness));
    const env = { ...sandbox.env, CLAUDE_PID: String(harness.pid) };
    spawn('sh', ['-c', `sh -c '${writePid('later')}; exec sleep 60' &`], { env, stdio: 'ignore' });
    const later = await sandbox.pidFrom('later');
    try {
      await eventually('it is an orphan', () => parentOf(later.pid) === 1);
      signalSeen(watcher, 'SIGCONT');
      await eventually('its watcher is gone', () => !isAlive(watcher));
      const doubt = await sandbox.json<Failure>(['stop', 'a'], 7);
      expect(doubt.error.message).toContain(`sleep (pid ${later.pid})`);
      expect(isAlive(later)).toBe(true);
    } finally {
      signalSeen(later, 'SIGKILL');
    }
    expect((await ended()).outcome).toBe('lost');
  });

  it('takes along what ignores that it is asked to end', async () => {
    const harness = await outsider(randomUUID());
    const session = await adopt(harness, '-s', 'a');
    const deaf = `trap "" TERM; ${writePid('orphan')}; while :; do sleep 0.05; done`;
    const orphan = await plantOrphan(harness, session, deaf);
    signalSeen(harness, 'SIGKILL');
    expect((await ended()).outcome).toBe('lost');
    expect(isAlive(orphan)).toBe(false);
  });

  it('does not end with its watcher: killed, that one says nothing about it', async () => {
    const harness = await outsider(randomUUID());
    const { run } = await adopt(harness, '-s', 'a');
    const watcher = see(run.keeperPid ?? 0);
    signalSeen(watcher, 'SIGKILL');
    await eventually('its watcher is gone', () => !isAlive(watcher));
    expect(await sandbox.list()).toMatchObject([{ name: 'a', run: { state: 'running', liveness: 'alive' } }]);
    await sandbox.show('a');
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.json<Failure>(['run', '--detach', '-s', 'a', '--', 'true'], 4)).error.code).toBe(
      'live_owner',
    );
    signalSeen(harness, 'SIGKILL');
    expect((await ended()).outcome).toBe('lost');
  });
});

describe('whose state directory was removed while its keeper lives', () => {
  it.each([
    ['stop', 'a'],
    ['kill', 'a'],
    ['run', '-d', '--force', '-s', 'a', '--', 'sleep', '60'],
  ])('is gone when %s has put its end on record', async (...command) => {
    const harness = await outsider(randomUUID());
    const { run } = await adopt(harness, '-s', 'a');
    rmSync(sandbox.home, { recursive: true });
    expect((await sandbox.reeve(command)).code).toBe(0);
    expect(isAlive(harness)).toBe(false);
    // By the command, or by its keeper if that was quicker.
    expect((await sandbox.reeve(['why', run.id])).stdout).toMatch(
      /ended as (stopped|superseded): \S+ (stopped it|asked)/,
    );
  });
});

describe('whose keeper was killed, and then the whole state directory was removed', () => {
  async function forgotten() {
    const nativeId = randomUUID();
    const harness = await outsider(nativeId);
    const { run } = await adopt(harness, '-s', 'a');
    signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
    rmSync(sandbox.home, { recursive: true });
    return { harness, run, nativeId };
  }

  it('is on record again as the run that it is, and its session has no second owner', async () => {
    const { harness, run } = await forgotten();
    const second = await sandbox.json<Failure>(['run', '-d', '-s', 'a', '--', 'sleep', '60'], 4);
    expect(second.error.code).toBe('live_owner');
    expect((await sandbox.show('a')).run).toMatchObject({
      id: run.id,
      epoch: 1,
      mode: 'adopted',
      pid: harness.pid,
      liveness: 'alive',
    });
    expect(await refused(harness.pid, 4, '-s', 'again')).toBe('live_owner');
    await sandbox.json(['stop', 'a']);
    expect(isAlive(harness)).toBe(false);
  });

  it('is that too where only its own file of owners is left', async () => {
    const { harness, run } = await forgotten();
    for (const name of readdirSync(ownersOf(sandbox)))
      if (!name.startsWith('process-')) rmSync(join(ownersOf(sandbox), name));
    expect(await sandbox.list()).toMatchObject([{ name: 'a', run: { id: run.id, liveness: 'alive' } }]);
    await sandbox.json(['kill', 'a']);
    expect(isAlive(harness)).toBe(false);
  });

  it('is not in doubt where only what it does is not known', async () => {
    const harness = await outsider(randomUUID());
    const { run } = await adopt(harness, '-s', 'a');
    signalSeen(see(run.keeperPid ?? 0), 'SIGKILL');
    removeDatabase(sandbox.home);
    expect(await sandbox.show('a')).toMatchObject({ status: 'unknown', run: { liveness: 'alive' } });
    const checks = await sandbox.json<readonly Check[]>(['doctor']);
    expect(checks.find(({ name }) => name === 'runs')).toMatchObject({ is: 'good' });
    expect(await sandbox.json(['settle'])).toMatchObject({ settled: [], remaining: [] });
  });

  it('is nobody’s when it is over too, and its name is free', async () => {
    const { harness } = await forgotten();
    signalSeen(harness, 'SIGKILL');
    await eventually('it is gone', () => !isAlive(harness));
    expect(await sandbox.list()).toEqual([]);
    await sandbox.json(['run', '-d', '-s', 'a', '--', 'true']);
  });
});

describe('ended by a person', () => {
  it.each([
    ['stop', ['stop', 'a', '--grace', '1']],
    ['kill', ['kill', 'a']],
  ])('with %s, it goes with all that it started, and is on record as stopped', async (_, command) => {
    const harness = await outsider(randomUUID());
    const session = await adopt(harness, '-s', 'a');
    await standIns.tell(harness.pid, `tool trap "" TERM; ${writePid('tool')}; while :; do sleep 0.05; done`);
    const tool = await sandbox.pidFrom('tool');
    const deaf = `trap "" TERM; ${writePid('orphan')}; while :; do sleep 0.05; done`;
    const orphan = await plantOrphan(harness, session, deaf);
    const watcher = see(session.run.keeperPid ?? 0);
    expect(await sandbox.json(command)).toMatchObject({ run: { outcome: 'stopped' }, wasLive: true });
    expect([harness, tool, orphan, watcher].filter(isAlive)).toEqual([]);
  });

  it('by a takeover, it is gone before its successor begins', async () => {
    const nativeId = randomUUID();
    const harness = await outsider(nativeId);
    await adopt(harness, '-s', 'a');
    const start = ['run', '--detach', '--on-live', 'retire', '--grace', '1', '-s', 'a', '--'];
    const taken = await sandbox.json<SessionView>([...start, 'claude', '--resume', nativeId]);
    expect(isAlive(harness)).toBe(false);
    expect(taken).toMatchObject({ epoch: 2, nativeId, run: { mode: 'detached' } });
    expect((await sandbox.show('a')).runs.map(({ outcome }) => outcome)).toEqual(['superseded', null]);
  });
});

describe('a conversation that a session has', () => {
  const known = async () => {
    const nativeId = randomUUID();
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'claude', '--session-id', nativeId]);
    await sandbox.json(['stop', 'a']);
    return nativeId;
  };

  it('goes on there, as its next epoch', async () => {
    const nativeId = await known();
    expect(await adopt(await outsider(nativeId))).toMatchObject({ name: 'a', epoch: 2, nativeId });
  });

  it('cannot become another session’s, and nothing is watched', async () => {
    const harness = await outsider(await known());
    expect(await refused(harness.pid, 2, '-s', 'other')).toBe('bound_elsewhere');
    expect((await sandbox.list()).map(({ name }) => name)).toEqual(['a']);
    expect(isAlive(harness)).toBe(true);
  });
});

describe('what cannot be adopted', () => {
  it('a process that is gone: 3', async () => {
    const child = spawn('true');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(await refused(child.pid ?? 0, 3)).toBe('not_found');
  });

  it.each(['word', '0', '-1', '1.5', '99999999999', '', '12 34'])('%j, which is no pid: 2', async (word) => {
    const { code, stderr } = await sandbox.reeve(['adopt', '--', word]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^reeve: [^\n]+\.\n/);
  });

  it('a process that is no harness: 2, and it is left alone', async () => {
    const child = spawn('sleep', ['60']);
    try {
      expect(await refused(child.pid ?? 0, 2)).toBe('usage');
      expect(child.exitCode).toBe(null);
    } finally {
      child.kill('SIGKILL');
    }
    expect(await sandbox.list()).toEqual([]);
  });

  it('one that is supervised already: 4', async () => {
    const harness = await outsider(randomUUID());
    await adopt(harness, '-s', 'a');
    expect(await refused(harness.pid, 4)).toBe('live_owner');
    const own = await sandbox.json<SessionView>(['run', '--detach', '-s', 'b', '--', 'claude']);
    expect(await refused(own.run.pid ?? 0, 4, '-s', 'other')).toBe('live_owner');
    expect(await sandbox.list()).toHaveLength(2);
  });

  it('one that somebody else is adopting at the same moment, under another name: 4', async () => {
    const harness = await standIns.outsider('claude', []);
    const go = sandbox.path('go');
    const first = finished(
      sandbox.start(['adopt', '-s', 'a', String(harness.pid)], {
        env: { ...sandbox.env, REEVE_CHECKPOINT: `launch.keeper_spawned=wait:${go}` },
      }),
    );
    await eventually('the first is held', () => existsSync(`${go}.reached`));
    expect(await refused(harness.pid, 4, '-s', 'b')).toBe('live_owner');
    writeFileSync(go, '');
    expect((await first).code).toBe(0);
    const live = await sandbox.json<SessionView[]>(['ls', '--live']);
    expect(live.map(({ name, run }) => [name, run.pid])).toEqual([['a', harness.pid]]);
    expect(isAlive(harness)).toBe(true);
  });

  it('one that this user may not signal, although it can be seen: 7', { tags: ['root'] }, async () => {
    const harness = await outsider(randomUUID());
    const home = sandbox.path('others');
    mkdirSync(home);
    for (const path of [sandbox.root, home]) chownSync(path, OTHER_USER, OTHER_USER);
    const ids = ['--reuid', String(OTHER_USER), '--regid', String(OTHER_USER), '--clear-groups'];
    const words = [process.execPath, CLI, 'adopt', '--json', String(harness.pid)];
    const env = { ...sandbox.env, HOME: home, REEVE_HOME: `${home}/state` };
    const asked = await finished(spawn('setpriv', [...ids, ...words], { cwd: home, env }));
    expect([asked.code, (JSON.parse(asked.stdout) as Failure).error.code]).toEqual([7, 'out_of_reach']);
  });

  it('one for a session that has a live owner: 4', async () => {
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    expect(await refused((await outsider(randomUUID())).pid, 4, '-s', 'a')).toBe('live_owner');
  });

  it('one for a session of an impossible name: 2', async () => {
    expect(await refused((await outsider(randomUUID())).pid, 2, '--session=a/b')).toBe('bad_name');
  });

  it('the one that asks, from inside: 2', async () => {
    const harness = await outsider(randomUUID());
    const command = `REEVE_HOME=${sandbox.home} ${process.execPath} ${CLI} adopt --json ${harness.pid} > said.new; echo $? >> said.new; mv said.new said`;
    await standIns.tell(harness.pid, `tool ${command}`);
    const said = await eventually('the answer', () => {
      try {
        return readFileSync(sandbox.path('said'), 'utf8');
      } catch {
        return null;
      }
    });
    expect(said).toContain('"inside_own_run"');
    expect(said).toMatch(/\n2\n$/);
    expect(await sandbox.list()).toEqual([]);
  });
});

describe('a process of another state directory', () => {
  const RETIRE = ['--on-live', 'retire', '--unmanaged'];
  /** What is tried from there: to adopt it, to resume its conversation beside it, and to end it as nobody's. */
  const refusedFromThere = async (pid: number | null, nativeId: string) => {
    const resume = ['--', 'claude', '--resume', nativeId];
    const attempts = [
      ['adopt', '--json', String(pid)],
      ['run', '-d', '--json', '-s', 'b', ...resume],
      ['run', '-d', '--json', '-s', 'b', ...RETIRE, ...resume],
    ];
    for (const words of attempts) {
      const { code, stdout } = await sandbox.reeve(words, { env: { REEVE_HOME: sandbox.path('other') } });
      const { error } = JSON.parse(stdout) as Failure & { error: { details: { home: string } } };
      expect({ words, code, error: error.code, home: error.details.home }).toEqual({
        words,
        code: 4,
        error: 'live_owner',
        home: sandbox.home,
      });
    }
  };

  it('is not adopted, nor ended as unmanaged, nor its conversation resumed beside it', async () => {
    const nativeId = randomUUID();
    const command = ['claude', '--resume', nativeId];
    const started = await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', ...command]);
    await refusedFromThere(started.run.pid, nativeId);
    expect((await sandbox.show('a')).run).toMatchObject({ id: started.run.id, state: 'running' });
  });

  it('that was adopted there is so too when its keeper was killed', async () => {
    const nativeId = randomUUID();
    const harness = await outsider(nativeId);
    const { run } = await adopt(harness, '-s', 'a');
    const keeper = see(run.keeperPid ?? 0);
    signalSeen(keeper, 'SIGKILL');
    await eventually('the keeper is gone', () => !isAlive(keeper));
    await refusedFromThere(harness.pid, nativeId);
    expect(isAlive(harness)).toBe(true);
    expect((await sandbox.list()).map((each) => each.run.id)).toEqual([run.id]);
  });

  it('whose harness named its conversation only after it had started is refused all the same', async () => {
    await sandbox.json<SessionView>(['run', '-d', '-s', 'a', '--', 'codex']);
    const nativeId = await eventually('its conversation', async () => (await sandbox.show('a')).nativeId);
    const held = () =>
      readdirSync(sandbox.path('.local/state/reeve-owners')).some((name) =>
        name.startsWith('conversation-codex-'),
      );
    await eventually('its keeper holds the conversation', held);
    const { code, stdout } = await sandbox.reeve(['run', '-d', '--json', '--', 'codex', 'resume', nativeId], {
      env: { REEVE_HOME: sandbox.path('other') },
    });
    expect({ code, error: (JSON.parse(stdout) as Failure).error.code }).toEqual({
      code: 4,
      error: 'live_owner',
    });
    await sandbox.json(['stop', 'a']);
    expect(held()).toBe(false);
  });

  it('that neither started is adopted by one of two that try at once', async () => {
    const harness = await outsider(randomUUID());
    const homes = [sandbox.home, sandbox.path('other')];
    const results = await Promise.all(
      homes.map(async (home) => {
        const env = { REEVE_HOME: home };
        return { env, ...(await sandbox.reeve(['adopt', '--json', String(harness.pid)], { env })) };
      }),
    );
    expect(new Set(results.map(({ code }) => code))).toEqual(new Set([0, 4]));
    const winner = results.find(({ code }) => code === 0);
    const { name } = JSON.parse(winner?.stdout ?? '{}') as SessionView;
    await sandbox.reeve(['stop', name], { env: winner?.env ?? {} });
    expect(isAlive(harness)).toBe(false);
  });
});
