/** The built program and its keepers on a PostgreSQL that asks for a password, hides behind a pooler, or goes away. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { eventually } from '../support/processes.ts';
import { createSandbox, finished } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

const PASSWORD = 'open-sesame';
const HBA = 'local all all trust\nhost all guarded all scram-sha-256\nhost all all all trust\n';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ files: { 'pg_hba.conf': HBA } });
  await query(server.url('postgres'), `create role guarded login superuser password '${PASSWORD}'`);
});
afterAll(() => server.stop());

let sandbox: Sandbox;
/** Of a database of the test's own, past everything. */
let direct: string;
beforeEach(async () => {
  direct = await server.createDatabase();
  sandbox = createSandbox();
});
afterEach(() => sandbox.cleanUp());

async function query<T extends object>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Who wrote the end of each run. */
async function enders(): Promise<string[]> {
  const rows = await query<{ actor: string }>(
    direct,
    `select actor from reeve.events where kind = 'run.ended' order by seq`,
  );
  return rows.map(({ actor }) => actor);
}

const guarded = () => direct.replace('//reeve@', '//guarded@');
const service = () =>
  `[svc]\nhost=127.0.0.1\nport=${server.port}\nuser=guarded\npassword=${PASSWORD}\ndbname=${new URL(direct).pathname.slice(1)}\n`;
const ways: readonly (readonly [string, () => Record<string, string>])[] = [
  ['in the address', () => ({ REEVE_STORE: direct.replace('//reeve@', `//guarded:${PASSWORD}@`) })],
  ['in ?password=', () => ({ REEVE_STORE: `${guarded()}?password=${PASSWORD}` })],
  [
    'in key=value',
    () => ({
      REEVE_STORE: `host=127.0.0.1 port=${server.port} user=guarded password=${PASSWORD} dbname=${new URL(direct).pathname.slice(1)}`,
    }),
  ],
  ['in PGPASSWORD', () => ({ REEVE_STORE: guarded(), PGPASSWORD: PASSWORD })],
  [
    'in PGPASSFILE, by a path from here',
    () => {
      writeFileSync(sandbox.path('pass'), `*:*:*:guarded:${PASSWORD}\n`, { mode: 0o600 });
      return { REEVE_STORE: guarded(), PGPASSFILE: 'pass' };
    },
  ],
  [
    'in ~/.pgpass',
    () => {
      writeFileSync(sandbox.path('.pgpass'), `*:*:*:guarded:${PASSWORD}\n`, { mode: 0o600 });
      return { REEVE_STORE: guarded() };
    },
  ],
  [
    'in a service that REEVE_STORE names',
    () => {
      writeFileSync(sandbox.path('.pg_service.conf'), service(), { mode: 0o600 });
      return { REEVE_STORE: 'service=svc' };
    },
  ],
  [
    'in a service that PGSERVICE names, by a path from here',
    () => {
      writeFileSync(sandbox.path('services'), service(), { mode: 0o600 });
      return { REEVE_STORE: 'postgres://', PGSERVICE: 'svc', PGSERVICEFILE: 'services' };
    },
  ],
];

describe.each(ways)('a password %s', (_, environment) => {
  it('reaches the keeper, which records the end itself, and not a word is printed', async () => {
    Object.assign(sandbox.env, environment());
    const result = await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(await enders()).toEqual(['keeper']);
    expect(await sandbox.reeve(['ls'])).toMatchObject({ code: 0, stderr: '' });
  });
});

it.each([
  ['in ?password=', ['--detach']],
  ['in key=value', ['--detach']],
  ['in PGPASSWORD', ['--tmux', '--detach']],
  ['in PGPASSFILE, by a path from here', ['--detach']],
  ['in ~/.pgpass', ['--detach']],
  ['in a service that REEVE_STORE names', ['--tmux', '--detach']],
  ['in a service that PGSERVICE names, by a path from here', ['--detach']],
] as const)(
  'a password %s is on no command line and in nothing the harness gets (%j)',
  async (way, flags) => {
    Object.assign(sandbox.env, new Map(ways).get(way)?.());
    const told = sandbox.path('environment');
    const script = `env > ${told}.new; mv ${told}.new ${told}; exec sleep 60`;
    const { run } = await sandbox.json<SessionView>(['run', ...flags, '-s', 'a', '--', 'sh', '-c', script]);
    await eventually('the harness tells its environment', () => existsSync(told));
    expect(readFileSync(told, 'utf8')).not.toMatch(/open-sesame|PGPASS|PGSERVICE/);
    expect(readFileSync(told, 'utf8')).toMatch(/^REEVE_STORE=withheld$/m);
    const keeper = run.keeperPid ?? 0;
    for (const file of ['cmdline', 'environ']) {
      expect(readFileSync(`/proc/${keeper}/${file}`, 'utf8')).not.toContain(PASSWORD);
    }
    if (flags[0] === '--tmux') {
      const socket = join(sandbox.home, 'tmux', 'socket');
      const format = '#{pane_start_command}';
      const panes = execFileSync('tmux', ['-S', socket, 'list-panes', '-a', '-F', format], {
        encoding: 'utf8',
      });
      expect(panes).toContain('REEVE_HOME');
      expect(panes).not.toContain(PASSWORD);
    }
    for (const name of readdirSync(join(sandbox.home, 'runs', run.id))) {
      const path = join(sandbox.home, 'runs', run.id, name);
      if (/\.(json|log)$/.test(name)) expect(readFileSync(path, 'utf8')).not.toContain(PASSWORD);
    }
    await sandbox.json(['stop', 'a']);
    expect((await sandbox.show('a')).run.outcome).toBe('stopped');
  },
);

it('behind a pooler that ignores startup options, an owner is an owner', async () => {
  const pooler = await startPgbouncer(server, ['ignore_startup_parameters = options,extra_float_digits']);
  try {
    sandbox.env['REEVE_STORE'] = direct;
    await sandbox.json(['run', '--detach', '-s', 'a', '--', 'sleep', '60']);
    sandbox.env['REEVE_STORE'] = pooler.url(direct);
    expect((await sandbox.reeve(['run', '-s', 'a', '--', 'true'])).code).toBe(4);
    expect((await sandbox.reeve(['run', '-s', 'b', '--', 'true'])).code).toBe(0);
    expect(await enders()).toEqual(['keeper']);
    await sandbox.json(['stop', 'a']);
    sandbox.env['REEVE_STORE'] = direct;
    expect((await sandbox.list()).map(({ name }) => name).toSorted()).toEqual(['a', 'b']);
  } finally {
    await pooler.stop();
  }
});

describe('a server that is away', () => {
  it('is waited for by a command, and by the keeper of a run that ended meanwhile', async () => {
    sandbox.env['REEVE_STORE'] = direct;
    const go = sandbox.path('go');
    const script = `while ! test -e ${go}; do sleep 0.1; done`;
    const { run } = await sandbox.json<SessionView>(['run', '--detach', '-s', 'a', '--', 'sh', '-c', script]);
    await server.halt();
    writeFileSync(go, '');
    const exit = join(sandbox.home, 'runs', run.id, 'exit.json');
    await eventually('the run has ended', () => existsSync(exit));
    const looking = finished(sandbox.start(['ls', '--json']));
    await server.start();
    expect(await looking).toMatchObject({ code: 0, stderr: '' });
    await eventually('the end is on record', async () => (await enders()).length === 1);
    expect((await sandbox.show('a')).run).toMatchObject({ outcome: 'completed', exitCode: 0 });
  });

  it.each([
    ['people', [], 0],
    ['programs', ['--json'], 7],
  ])(
    'from the moment on in which the command is let go: %s are told that it executes',
    async (_, flags, code) => {
      sandbox.env['REEVE_STORE'] = direct;
      const go = sandbox.path('go');
      const env = { REEVE_CHECKPOINT: `launch.released=wait:${go}`, REEVE_STORE_WAIT: '1' };
      const words = ['run', '--detach', ...flags, '-s', 'a', '--', 'sleep', '60'];
      const starting = finished(sandbox.start(words, { env: { ...sandbox.env, ...env } }));
      await eventually('it is let go', () => existsSync(`${go}.reached`));
      await server.halt();
      writeFileSync(go, '');
      const result = await starting;
      await server.start();
      const { run } = await sandbox.show('a');
      expect([result.code, result.stdout]).toEqual([code, expect.stringContaining(run.id)]);
      expect(result.stdout).toContain('is executing');
      expect(run).toMatchObject({ state: 'running', liveness: 'alive', epoch: 1 });
      await sandbox.json(['stop', 'a']);
    },
  );

  it('for longer than it is waited for is told as unavailable', async () => {
    const env = { REEVE_STORE: 'postgres://me@127.0.0.1:1/reeve', REEVE_STORE_WAIT: '1' };
    expect((await sandbox.reeve(['ls'], { env })).code).toBe(7);
    expect((await sandbox.reeve(['ls'], { env: { ...env, REEVE_STORE_WAIT: 'soon' } })).code).toBe(2);
  });

  it('is told of to whoever sits at a terminal', async () => {
    const env = { ...sandbox.env, REEVE_STORE: 'postgres://me@127.0.0.1:1/reeve', REEVE_STORE_WAIT: '3' };
    const words = [process.execPath, 'dist/reeve.cjs', 'ls'].join(' ');
    const cwd = new URL('../..', import.meta.url).pathname;
    const output = execFileSync('script', ['-qec', `${words}; echo "exit $?"`, '/dev/null'], {
      cwd,
      env,
      encoding: 'utf8',
    });
    expect(output).toMatch(/does not answer \(connection refused\)\. Trying for \d+ s more/);
    expect(output).toContain('exit 7');
  });
});
