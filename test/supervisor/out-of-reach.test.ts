/**
 * Runs that this reader cannot judge or end: on another host, of another state directory of this machine, of another
 * user. One PostgreSQL, the built CLI, real processes. Nothing of such a run may change on record.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionBudgets } from '../../src/api/http-views.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { enforceBudgets } from '../../src/supervisor/budgets.ts';
import { endOverdueChildren } from '../../src/supervisor/children.ts';
import { openContext } from '../../src/supervisor/context.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { openPanes } from '../fixtures/stand-in-tui.ts';
import { launchIn } from '../support/launch.ts';
import { startPostgres } from '../support/postgres.ts';
import { eventually, isAlive } from '../support/processes.ts';
import { CLI, createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Finished, Sandbox } from '../support/sandbox.ts';

let server: Awaited<ReturnType<typeof startPostgres>>;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** Where the runs are, and another state directory of the same machine with the same store. */
let near: Sandbox;
let far: Sandbox;
beforeEach(async () => {
  const store = { REEVE_STORE: await server.createDatabase() };
  near = createSandbox(store);
  far = createSandbox(store);
});
afterEach(async () => {
  await near.cleanUp();
  await far.cleanUp();
});

async function query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(near.env['REEVE_STORE']);
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** All that is on record of runs and what happened to them. */
const onRecord = async () => [
  await query('select * from reeve.runs order by id'),
  await query('select * from reeve.events order by seq'),
];

interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

/** A command that waits for a line in `go`, and then succeeds. */
const WAITS = ['sh', '-c', 'read line < go'];

async function launchWaiting(name = 'a') {
  spawnSync('mkfifo', [near.path('go')]);
  return launchIn(near, name, ...WAITS);
}

async function letGo({ keeper }: { readonly keeper: Parameters<typeof isAlive>[0] }): Promise<void> {
  writeFileSync(near.path('go'), 'on\n');
  await eventually('its keeper is gone', () => !isAlive(keeper));
}

const STARTS = [
  ['run', '--detach', '-s', 'a', '--', 'true'],
  ['run', '--on-live', 'attach', '-s', 'a', '--', 'true'],
  ['run', '--detach', '--force', '-s', 'a', '--', 'true'],
  ['resume', '--detach', '--force', 'a'],
];

describe('a run on another host', () => {
  /** As that host would have recorded it; until it is given back, nothing here can prove anything of it. */
  async function elsewhere(runId: string): Promise<() => Promise<void>> {
    const [row] = await query('select launcher, keeper, harness, log_path from reeve.runs where id = $1', [
      runId,
    ]);
    const write = ([launcher, keeper, harness, log]: readonly unknown[]) =>
      query('update reeve.runs set launcher = $2, keeper = $3, harness = $4, log_path = $5 where id = $1', [
        runId,
        launcher,
        keeper,
        harness,
        log,
      ]);
    const before = [row?.['launcher'], row?.['keeper'], row?.['harness'], row?.['log_path']];
    const moved = before
      .slice(0, 3)
      .map((text) =>
        JSON.stringify({ ...JSON.parse(String(text)), host: 'beta/feedfeedfeedfeed', boot: 'of-beta' }),
      );
    await write([...moved, '/of/beta/output.log']);
    return async () => void (await write(before));
  }

  it.each(['logs', 'logs -f', 'attach'])('is named by `%s`, which cannot show it', async (verb) => {
    const words = verb.split(' ');
    const { run } = await launchIn(near, 'a', 'sleep', '600');
    const back = await elsewhere(run.id);
    const said = await near.reeve([...words, 'a']);
    expect({ code: said.code, stdout: said.stdout }).toEqual({ code: 7, stdout: '' });
    expect(said.stderr).toContain('beta');
    if (!words.includes('-f')) {
      const { error } = await near.json<Failure>([...words, 'a'], 7);
      expect({ code: error.code, host: error.details['host'] }).toEqual({
        code: 'out_of_reach',
        host: 'beta/feedfeedfeedfeed',
      });
    }
    await back();
  });

  it('has its host beside it in the list, which has such a column only then', async () => {
    const { run } = await launchIn(near, 'a', 'sleep', '600');
    const { run: own } = await launchIn(near, 'b', 'sleep', '600');
    const rows = async () => (await near.reeve(['ls'])).stdout.split('\n').map((line) => line.split(/\s\s+/));
    expect((await rows())[0]).not.toContain('HOST');
    const back = await elsewhere(run.id);
    const [heading = [], ...others] = await rows();
    const at = heading.indexOf('HOST');
    const hostOf = (name: string) => others.find((cells) => cells.includes(name))?.[at];
    expect([hostOf('a'), hostOf('b')]).toEqual(['beta', own.host.split('/')[0]]);
    // Of another host there is nothing to be settled here.
    expect((await near.reeve(['ls'])).stderr).not.toContain('reeve settle');
    await back();
  });

  it('has a budget that is unknown here, not unspent, until its host says how much', async () => {
    const args = ['run', '--detach', '--max-minutes', '60', '--max-tokens', '1000', '-s', 'a'];
    const { run } = await near.json<SessionView>([...args, '--', 'sleep', '600']);
    const back = await elsewhere(run.id);
    await query(`update reeve.sessions set harness = 'claude'`);
    const budgets = async () => {
      const [found] = await near.json<SessionBudgets[]>(['budget', 'a']);
      return new Map(found?.budgets.map(({ kind, spent, state }) => [kind, { spent, state }]));
    };
    expect(await budgets()).toEqual(
      new Map([
        ['tokens', { spent: 0, state: 'unknown' }],
        ['minutes', { spent: 0, state: 'unknown' }],
      ]),
    );
    for (const verb of ['budget', 'show']) {
      const { stdout } = await near.reeve([verb, 'a']);
      expect(stdout).toContain('unknown of 60 min');
      expect(stdout).toContain('measured on beta');
    }
    await query('update reeve.runs set awake_ms = 3 * 60000');
    expect((await budgets()).get('minutes')).toEqual({ spent: 3, state: 'within' });
    await back();
  });

  it('owns its session: whatever would start it is refused with exit 4, its host and since when', async () => {
    const { run } = await launchIn(near, 'a', 'sleep', '600');
    const back = await elsewhere(run.id);
    const before = await onRecord();
    for (const start of STARTS) {
      const { error } = await near.json<Failure>(start, 4);
      expect({ code: error.code, details: error.details }).toMatchObject({
        code: 'live_owner',
        details: {
          session: 'a',
          owner: { run: run.id, host: 'beta/feedfeedfeedfeed', since: run.startedAt },
        },
      });
      expect(error.message).toContain('beta');
      expect(error.hint).toContain('--assume-gone');
    }
    expect(await onRecord()).toEqual(before);
    await back();
  });

  it('is not ended from here: nothing of it changes, until a person gives their word', async () => {
    const { run } = await launchIn(near, 'a', 'sleep', '600');
    const back = await elsewhere(run.id);
    const before = await onRecord();
    for (const verb of ['stop', 'kill']) {
      const { error } = await near.json<Failure>([verb, 'a'], 7);
      expect({ code: error.code, host: error.details['host'] }).toEqual({
        code: 'out_of_reach',
        host: 'beta/feedfeedfeedfeed',
      });
    }
    expect(await onRecord()).toEqual(before);
    await back();
  });
});

describe('a run of another state directory of this machine', () => {
  it('is seen to live, and its log can be read', async () => {
    await launchIn(near, 'a', 'sh', '-c', 'echo hello; exec sleep 600');
    const { status, run } = await far.show('a');
    expect({ status, liveness: run.liveness }).toEqual({ status: 'working', liveness: 'alive' });
    await eventually('its output', async () => (await far.reeve(['logs', 'a'])).stdout === 'hello\n');
  });

  it('that died is not judged by whoever does not have its exit record', async () => {
    near.env['REEVE_CHECKPOINT'] = 'finalise.begun=kill';
    const launched = await launchWaiting();
    delete near.env['REEVE_CHECKPOINT'];
    await letGo(launched);
    const before = await onRecord();
    const seen = await far.show('a');
    expect({ status: seen.status, state: seen.run.state }).toEqual({ status: 'unknown', state: 'running' });
    expect(seen.doubt).toContain(near.home);
    expect((await far.list()).map(({ status }) => status)).toEqual(['unknown']);
    // Every way on that is told is one.
    const wayOn = `REEVE_HOME=${near.home} reeve settle a`;
    for (const words of [...STARTS, ['settle'], ['settle', 'a'], ['rm', 'a']]) {
      const told = await far.reeve(words);
      expect([words, told.code]).toEqual([words, 7]);
      expect(told.stderr).toContain(`Where its records are: ${wayOn}`);
      expect(told.stderr).not.toContain('--assume-gone');
    }
    expect((await far.reeve(['ls'])).stderr).toContain('reeve settle');
    for (const words of [['stop'], ['kill', '--assume-gone']]) {
      const { error } = await far.json<Failure>([...words, 'a'], 7);
      expect(error.code).toBe('out_of_reach');
      expect(error.hint).toContain(`REEVE_HOME=${near.home}`);
    }
    expect(await onRecord()).toEqual(before);
    expect((await near.show('a')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
  });

  it('is lost on a person’s word once its state directory is gone', async () => {
    near.env['REEVE_CHECKPOINT'] = 'finalise.begun=kill';
    const launched = await launchWaiting();
    delete near.env['REEVE_CHECKPOINT'];
    await letGo(launched);
    rmSync(near.home, { recursive: true });
    await far.json(['kill', '--assume-gone', 'a']);
    expect((await far.show('a')).run.outcome).toBe('lost');
  });

  it('is looked at by nobody else: what its harness holds open is put on record from its own', async () => {
    const standIns = installStandIns(near, 'code');
    const nativeId = randomUUID();
    near.env['STAND_IN_ID'] = nativeId;
    near.env['CODE_HOME'] = near.path('code-home');
    const { run } = await near.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'code']);
    await standIns.ready(run.pid);
    await query('update reeve.sessions set native_id = null');
    await query('delete from reeve.native_sessions');
    await query('update reeve.runs set native = null');
    // The start may have been quick enough to identify it, and what was taken once is not taken again.
    await query(`delete from reeve.events where kind = 'harness.session.identified'`);
    const before = await onRecord();
    expect((await far.show('a')).nativeId).toBeNull();
    expect(await onRecord()).toEqual(before);
    expect((await near.show('a')).nativeId).toBe(nativeId);
  });

  it('has a screen that only its own tmux shows', async () => {
    const panes = openPanes(near);
    await near.json(['run', '--tmux', '--detach', '-s', 'a', '--', 'sleep', '600']);
    for (const words of [
      ['logs', '--screen', 'a'],
      ['attach', 'a'],
      ['send', 'a', 'hello'],
    ]) {
      const { code, stderr } = await far.reeve(words);
      expect({ code, isNamed: stderr.includes(near.home) }).toEqual({ code: 7, isNamed: true });
    }
    await near.json(['kill', 'a']);
    await eventually('its tmux server is gone', () => panes.tmux('list-sessions').code !== 0);
  });

  it('is not ended from there, and what it then does by itself is its outcome', async () => {
    const launched = await launchWaiting();
    const before = await onRecord();
    for (const verb of ['stop', 'kill']) {
      const { error } = await far.json<Failure>([verb, 'a'], 7);
      expect(error.code).toBe('out_of_reach');
      expect(error.message).toContain(near.home);
      expect(error.hint).toContain(`REEVE_HOME=${near.home}`);
    }
    for (const words of [
      ...STARTS.filter((each) => each.includes('--force')),
      ['kill', '--assume-gone', 'a'],
    ]) {
      const { error } = await far.json<Failure>(words, 4);
      expect(error.code).toBe('live_owner');
      expect(error.hint).toContain(`REEVE_HOME=${near.home} reeve stop a`);
    }
    expect(await onRecord()).toEqual(before);
    await letGo(launched);
    expect((await near.show('a')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
  });

  it('is ended where it was started, which is told also of one without a log', async () => {
    const child = near.start(['run', '-s', 'a', '--', 'sleep', '600']);
    await eventually('it runs', async () => (await near.list())[0]?.run.state === 'running');
    for (const [words, code] of [
      [['stop', 'a'], 7],
      [['kill', '--assume-gone', 'a'], 4],
      [['run', '-d', '--force', '-s', 'a', '--', 'true'], 4],
    ] as const) {
      const { error } = await far.json<Failure>(words, code);
      expect(error.hint).toContain(`REEVE_HOME=${near.home} reeve stop a`);
      expect(error.hint).not.toContain('--assume-gone');
    }
    await near.json(['stop', 'a']);
    await finished(child);
  });

  it('is held to its budgets, and its overdue children ended, from its own state directory only', async () => {
    const launched = await launchWaiting();
    const budget = { tokens: null, cost: null, minutes: 1e-9, onExceeded: null };
    await query('update reeve.sessions set budget = $1', [JSON.stringify(budget)]);
    // As it would be below a parent that was over long ago.
    const terms = { onParentEnd: 'adopt', adoptWithinMs: 1, subject: null, revision: null };
    await query(
      `update reeve.runs set parent_run_id = 'r-gone', owner_run_id = 'r-gone', child_terms = $1, adopt_until = 1`,
      [JSON.stringify(terms)],
    );
    const before = await onRecord();
    const context = await openContext({ home: far.home, environment: far.env, actor: 'test' });
    try {
      expect(await enforceBudgets(context)).toEqual({ budgeted: 0, ended: 0, problem: null });
      expect(await endOverdueChildren(context)).toEqual([]);
    } finally {
      await context.store.close();
    }
    expect(await onRecord()).toEqual(before);
    await letGo(launched);
  });
});

/** What to put before a command to be somebody else; only root can. */
const AS_NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];

// Never by a record that names another process as the keeper: whoever sweeps what is below that one ends strangers.
describe('a user who may not signal', { tags: ['root'] }, () => {
  function asNobody(sandbox: Sandbox, args: readonly string[]): Promise<Finished> {
    const [program = '', ...words] = [...AS_NOBODY, process.execPath, CLI, ...withJson(args)];
    const { env } = sandbox;
    return finished(spawn(program, words, { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** The same commands by somebody who may not signal the keeper of run `a`, until the answer is called. */
  async function withoutRight(home: Sandbox): Promise<{
    readonly reeve: (args: readonly string[]) => Promise<Finished>;
    readonly back: () => Promise<void>;
  }> {
    spawnSync('chown', ['-R', 'nobody', home.root]);
    return {
      reeve: (args) => asNobody(home, args),
      back: async () => void spawnSync('chown', ['-R', 'root', home.root]),
    };
  }

  it.each(['its own state directory', 'another one'])(
    'leaves no intent, whether the run is of %s',
    async (which) => {
      const launched = await launchWaiting();
      await far.reeve(['ls']);
      const { reeve, back } = await withoutRight(which === 'another one' ? far : near);
      const before = await onRecord();
      for (const verb of ['stop', 'kill']) {
        const { code, stdout } = await reeve([verb, 'a']);
        const { error } = JSON.parse(stdout) as Failure;
        expect({ code, error: error.code }).toEqual({ code: 7, error: 'out_of_reach' });
        expect(error.message).not.toContain('SIGKILL');
      }
      const taken = await reeve(['run', '--detach', '--force', '-s', 'a', '--', 'true']);
      expect({ code: taken.code, error: (JSON.parse(taken.stdout) as Failure).error.code }).toEqual({
        code: 4,
        error: 'live_owner',
      });
      expect(await onRecord()).toEqual(before);
      await back();
      await letGo(launched);
      expect((await near.show('a')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
    },
  );
});
