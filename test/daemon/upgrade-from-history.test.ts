/**
 * A Reeve that was really built earlier, with live and ended runs, keepers and a daemon; then the build of today on top of
 * it, and the older one on what that left. Both are whole programs on real processes.
 */
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChildView } from '../../src/api/session-view.ts';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';
import type { SessionDetail } from '../../src/supervisor/list.ts';
import { startObeying } from '../support/obeying.ts';
import type { Obeying } from '../support/obeying.ts';
import { buildFromHistory, install, TODAY } from '../support/other-build.ts';
import type { OtherBuild, OtherInstallation } from '../support/other-build.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually, isAlive, see } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { inFile, withStored } from '../support/stored.ts';

/**
 * The last build whose store has an older schema: whoever adds a step to the schema names the last commit before that, which
 * is the build that people have.
 */
const OLDER = { commit: 'a90f7e502e37690010bf43016162be700d6d3cac', schema: 9 };
/** A build of the same schema, whose daemon notices by itself that it was replaced. */
const LANDED = 'b837bd999303713d3e630eb002fe0cf06181c866';

/** Each starts some thirty programs, one after the other. */
const LONG_MS = 180_000;

let build: OtherBuild;
beforeAll(async () => {
  build = await buildFromHistory(OLDER.commit);
  return build.remove;
});
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
  return () => server.stop();
});

let sandbox: Sandbox;
/** The same state directory through the older build. */
let older: Sandbox;
let installed: OtherInstallation;

function prepare(env: Record<string, string> = {}): void {
  sandbox = createSandbox(env);
  installed = install(sandbox.path('installed'), build);
  older = sandbox.through(installed.cli);
}
afterEach(async () => {
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}
const refusal = async (from: Sandbox, args: readonly string[], code: number) =>
  (await from.json<Failure>(args, code)).error.code;

interface Live extends Obeying {
  readonly harness: Seen;
  readonly keeper: Seen;
}

function live(obeying: Obeying): Live {
  const { pid, keeperPid } = obeying.started.run;
  return { ...obeying, harness: see(pid ?? 0), keeper: see(keeperPid ?? 0) };
}

/** What the older build left behind and has going: ended runs, live ones, and a child to be adopted. */
async function startOlder() {
  expect((await older.reeve(['run', '-s', 'done', '--', 'true'])).code).toBe(0);
  expect((await older.reeve(['run', '-s', 'bad', '--', 'sh', '-c', 'exit 3'])).code).toBe(3);
  const web = live(await startObeying(older, 'web'));
  const parent = live(await startObeying(older, 'parent'));
  const waits = `until [ -e ${sandbox.path('go')} ]; do sleep 0.05; done; exit 6`;
  const how = ['-d', '-s', 'child', '--on-parent-end', 'adopt'];
  const child = await parent.json<SessionDetail>(['child', 'run', ...how, '--', 'sh', '-c', waits]);
  const processes = [see(child.run.pid ?? 0), see(child.run.keeperPid ?? 0)];
  const all = [web, parent].flatMap(({ harness, keeper }) => [harness, keeper]).concat(processes);
  return { web, parent, child: processes, areUp: () => all.every(isAlive) };
}

const serveOlder = async () => see((await older.json<{ pid: number }>(['serve', '--detach'])).pid);

const STANDING = `select name, r.epoch, state, outcome from runs r join sessions s on s.id = r.session_id order by name, r.epoch`;
const standing = () =>
  withStored(sandbox, async ({ schema, rows }) => ({ schema, runs: await rows(STANDING) }));
const AT_FIRST = [
  { name: 'bad', epoch: 1, state: 'ended', outcome: 'failed' },
  { name: 'child', epoch: 1, state: 'running', outcome: null },
  { name: 'done', epoch: 1, state: 'ended', outcome: 'completed' },
  { name: 'parent', epoch: 1, state: 'running', outcome: null },
  { name: 'web', epoch: 1, state: 'running', outcome: null },
];
const gone = (seen: Seen) => eventually(`process ${seen.pid} is gone`, () => !isAlive(seen), 60_000);
const everything = () => withStored(sandbox, ({ all }) => all());
/** How often the log says that a run of the session ended. */
const ends = (name: string) =>
  withStored(sandbox, async ({ rows }) => {
    const query = `select kind from events e join sessions s on s.id = e.session_id where kind = 'run.ended' and name = '${name}'`;
    return (await rows(query)).length;
  });
const children = async () =>
  (await sandbox.json<{ children: ChildView[] }>(['child', 'ls', 'parent'])).children;

it('the older build is the last one before the schema of today', async () => {
  prepare();
  await older.list();
  expect((await standing()).schema).toBe(OLDER.schema);
  expect(OLDER.schema).toBe(SCHEMA_VERSION - 1);
});

describe.each(['sqlite', 'postgres'] as const)('on %s', { timeout: LONG_MS }, (engine) => {
  beforeEach(async () => {
    prepare(engine === 'sqlite' ? {} : { REEVE_STORE: await server.createDatabase() });
  });

  it('beside a daemon of the older build nothing is upgraded or done, and its runs go on', async () => {
    const daemon = await serveOlder();
    const { areUp } = await startOlder();
    for (const args of [
      ['ls'],
      ['show', 'web'],
      ['stop', 'web'],
      ['run', '-s', 'web', '--', 'true'],
      ['run', '-s', 'other', '--', 'true'],
      ['serve', '--detach'],
    ])
      expect([args, await refusal(sandbox, args, 4)]).toStrictEqual([args, 'daemon_older']);
    expect(await standing()).toStrictEqual({ schema: OLDER.schema, runs: AT_FIRST });
    expect(areUp() && isAlive(daemon)).toBe(true);
    // The older build goes on with it as before.
    expect((await older.show('web')).status).toBe('working');
  });

  it.each(['replaced', 'stopped'] as const)(
    'once the daemon of the older build is %s, the store is upgraded, which is said, and its runs go on',
    async (how) => {
      const daemon = await serveOlder();
      const { areUp } = await startOlder();
      if (how === 'stopped') await sandbox.json(['serve', 'stop']);
      const first = await sandbox.reeve(how === 'stopped' ? ['ls'] : ['serve', '--replace', '--detach']);
      expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(`schema ${OLDER.schema}`) });
      expect(isAlive(daemon)).toBe(false);
      expect(areUp()).toBe(true);
      expect(await standing()).toStrictEqual({ schema: SCHEMA_VERSION, runs: AT_FIRST });
      if (engine === 'sqlite') await expectBackup(first.stderr);
      await expectToldOf();
      for (const name of ['web', 'parent', 'child'])
        expect(await refusal(sandbox, ['run', '-s', name, '--', 'true'], 4)).toBe('live_owner');
      expect(areUp()).toBe(true);
    },
  );

  it('the older build is refused on a store that was upgraded, and changes nothing', async () => {
    const { areUp } = await startOlder();
    await sandbox.list();
    const before = await everything();
    for (const args of [
      ['ls'],
      ['show', 'web'],
      ['stop', 'web'],
      ['kill', 'child'],
      ['rm', 'done'],
      ['run', '-s', 'web', '--on-live', 'retire', '--', 'true'],
      ['run', '-s', 'other', '--', 'true'],
      ['serve'],
    ])
      expect([args, await refusal(older, args, 1)]).toStrictEqual([args, 'store_newer']);
    expect((await older.reeve(['serve', '--detach'])).code).toBe(1);
    expect(await everything()).toStrictEqual(before);
    expect(areUp()).toBe(true);
  });
});

async function expectBackup(said: string): Promise<void> {
  const backup = join(sandbox.home, `reeve.db.schema-${OLDER.schema}`);
  expect(said).toContain(backup);
  const kept = await inFile(backup, async ({ schema, rows }) => ({ schema, runs: await rows(STANDING) }));
  expect(kept).toStrictEqual({ schema: OLDER.schema, runs: AT_FIRST });
}

async function expectToldOf(): Promise<void> {
  const sessions = (await sandbox.list()).map(({ name, status }) => `${name} ${status}`);
  expect(sessions.toSorted()).toStrictEqual([
    'bad failed',
    'child working',
    'done done',
    'parent working',
    'web working',
  ]);
  for (const { name, outcome } of AT_FIRST) {
    expect((await sandbox.show(name)).run.outcome).toBe(outcome);
    const { sentences } = await sandbox.json<{ sentences: unknown[] }>(['why', name]);
    expect(sentences.length).toBeGreaterThan(2);
  }
}

describe.each(['cgroup', 'subreaper'])(
  'a run of the older build (%s)',
  { timeout: LONG_MS },
  (containment) => {
    beforeEach(() => prepare({ REEVE_CONTAINMENT: containment }));

    it.each(['left where it is', 'replaced in place'] as const)(
      'with its program %s ends with its true outcome, once, and its child is adopted',
      async (where) => {
        const { web, parent, child } = await startOlder();
        if (where === 'replaced in place') installed.update(TODAY);
        await sandbox.list();
        web.exits(5);
        await gone(web.keeper);
        // The finaliser of the older build is refused, so that the next reader ends the run by the record of its exit.
        const state = where === 'replaced in place' ? 'ended' : 'running';
        expect((await standing()).runs.find(({ name }) => name === 'web')).toMatchObject({ state });
        expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'failed', exitCode: 5 });

        parent.exits(0);
        await gone(parent.keeper);
        expect((await sandbox.show('parent')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
        expect(child.every(isAlive)).toBe(true);
        expect(await children()).toMatchObject([{ session: 'child', waitsUntil: expect.any(String) }]);
        const next = await startObeying(sandbox, 'parent');
        expect(await children()).toMatchObject([{ owner: next.started.run.id, waitsUntil: null }]);

        writeFileSync(sandbox.path('go'), '');
        for (const each of child) await gone(each);
        expect((await sandbox.show('child')).run).toMatchObject({ outcome: 'failed', exitCode: 6 });
        for (const name of ['web', 'parent', 'child'])
          expect([name, await ends(name)]).toStrictEqual([name, 1]);
      },
    );

    it('is stopped or taken over as one of its own, and a child to be adopted lives on', async () => {
      const { web, parent, child } = await startOlder();
      await sandbox.json(['stop', 'web']);
      expect([web.harness, web.keeper].map(isAlive)).toStrictEqual([false, false]);
      expect((await sandbox.show('web')).run.outcome).toBe('stopped');
      const words = ['run', '-d', '-s', 'parent', '--on-live', 'retire', '--', 'sleep', '600'];
      const { run } = await sandbox.json<SessionDetail>(words);
      expect([parent.harness, parent.keeper].map(isAlive)).toStrictEqual([false, false]);
      expect((await standing()).runs).toContainEqual({
        name: 'parent',
        epoch: 1,
        state: 'ended',
        outcome: 'superseded',
      });
      expect(child.every(isAlive)).toBe(true);
      expect(await children()).toMatchObject([{ session: 'child', owner: run.id }]);
    });
  },
);

describe('over the upgrade', { timeout: LONG_MS }, () => {
  beforeEach(() => prepare());

  it('a run of the older build in a terminal ends with the code of its command', async () => {
    const go = sandbox.path('go');
    const command = `echo up; until [ -e ${go} ]; do sleep 0.05; done; exit 7`;
    const front = older.start(['run', '-s', 'front', '--', 'sh', '-c', command]);
    const ended = finished(front);
    await once(front.stdout as NodeJS.ReadableStream, 'data');
    await sandbox.list();
    writeFileSync(go, '');
    expect(await ended).toMatchObject({ code: 7 });
    expect((await sandbox.show('front')).run).toMatchObject({ outcome: 'failed', exitCode: 7 });
    expect(await ends('front')).toBe(1);
  });

  it('a run that ends while the older daemon is still there has its true outcome once that is replaced', async () => {
    await serveOlder();
    const { web, parent, child } = await startOlder();
    installed.update(TODAY);
    for (const each of [web, parent]) {
      each.exits(5);
      const exit = join(sandbox.home, 'runs', each.started.run.id, 'exit.json');
      await eventually('its exit is on record', () => existsSync(exit));
    }
    expect(await refusal(sandbox, ['ls'], 4)).toBe('daemon_older');
    await sandbox.json(['serve', '--replace', '--detach']);
    for (const name of ['web', 'parent']) {
      const run = await eventually(`the end of ${name}`, async () => {
        const found = (await sandbox.show(name)).run;
        return found.state === 'ended' && found;
      });
      expect(run).toMatchObject({ outcome: 'failed', exitCode: 5 });
      expect(await ends(name)).toBe(1);
    }
    expect(child.every(isAlive)).toBe(true);
    expect(await children()).toMatchObject([{ session: 'child', waitsUntil: expect.any(String) }]);
  });

  it('an older daemon in the place of the newer one does not come up, and the runs go on', async () => {
    const { areUp } = await startOlder();
    await sandbox.json(['serve', '--detach']);
    expect((await older.reeve(['serve', '--replace', '--detach'])).code).toBe(1);
    expect(await standing()).toStrictEqual({ schema: SCHEMA_VERSION, runs: AT_FIRST });
    await sandbox.json(['serve', '--replace', '--detach']);
    expect(areUp()).toBe(true);
  });
});

describe('a daemon that landed before', { timeout: LONG_MS }, () => {
  it('gives way to the build of today on its own, whose finaliser ends the runs that it started', async () => {
    const landed = await buildFromHistory(LANDED);
    try {
      prepare();
      installed = install(sandbox.path('landed'), landed);
      older = sandbox.through(installed.cli);
      const daemon = await serveOlder();
      const { web, child, areUp } = await startOlder();
      installed.update(TODAY);
      const record = join(sandbox.home, 'daemon', 'daemon.json');
      await eventually(
        'the build of today has taken over',
        () => (JSON.parse(readFileSync(record, 'utf8')) as { build: string }).build === TODAY.name,
        120_000,
      );
      await gone(daemon);
      expect(areUp()).toBe(true);
      expect(await standing()).toStrictEqual({ schema: SCHEMA_VERSION, runs: AT_FIRST });
      web.exits(5);
      await gone(web.keeper);
      expect((await sandbox.show('web')).run).toMatchObject({ outcome: 'failed', exitCode: 5 });
      expect(await ends('web')).toBe(1);
      expect(child.every(isAlive)).toBe(true);
    } finally {
      landed.remove();
    }
  });
});
