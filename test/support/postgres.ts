/** A real PostgreSQL server of a test file's own: a temporary data directory, a Unix socket in it, a free TCP port. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  chownSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { MissingProgram } from './missing-program.ts';

export interface PostgresServer {
  readonly host: string;
  /** Where its Unix socket is. */
  readonly directory: string;
  /** The same after a restart. */
  readonly port: number;
  /** The files of the server, to be copied and put back while it is halted. */
  readonly data: string;
  url(database: string): string;
  /** A fresh, empty database; its address. */
  createDatabase(): Promise<string>;
  /** Drops it with all that is in it, and makes one of the same name. */
  recreateDatabase(url: string): Promise<void>;
  /** What pg_dump writes, to be put back over what is there then. */
  dump(url: string): string;
  restore(url: string, dump: string): void;
  /** Stops the server and keeps its data, as an administrator would. */
  halt(): Promise<void>;
  /** Starts a halted server again. */
  start(): Promise<void>;
  /** Ends the server and removes its directory. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const USER = 'reeve';
/** Somebody else can take a port between its choice and its use. */
const PORT_ATTEMPTS = 3;
/** Nothing of a test outlives it, so nothing of it needs to reach the disk. */
const SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'];
/** Pending server output is read for its last words only. */
const MAX_LOG_LENGTH = 20_000;

const MEMORY = '/dev/shm';
/** Ten times what a server of two hundred databases takes; several run side by side. */
const ROOM_BYTES = 16 * 2 ** 30;

/** On a busy disk it takes a minute, and sometimes two, to write so many databases and to remove them. */
function roomInMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}

export interface PostgresOptions {
  /** Beyond those of every test server, `name=value`. */
  readonly settings?: readonly string[];
  /** Files of its data directory by name, readable by it alone. */
  readonly files?: Readonly<Record<string, string>>;
  /** A hot standby of this server instead of a server of its own. */
  readonly standbyOf?: PostgresServer;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = findPostgres();
  const directory = mkdtempSync(join(roomInMemory() ? MEMORY : tmpdir(), 'reeve-pg-'));
  const guardian = guard(directory);
  const owner = unprivilegedUser();
  if (owner !== null) chownSync(directory, owner.uid, owner.gid);
  const server = new Server(programs.postgres, directory, owner ?? {}, options.settings ?? []);
  const stop = async () => {
    // Its data is removed: two hundred databases are not written out for that, which takes a busy disk a minute.
    await server.halt('SIGQUIT');
    guardian.stdin?.end();
    if (guardian.exitCode === null) await once(guardian, 'exit');
  };
  try {
    await makeData(programs, directory, owner, options);
    await server.startOnFreePort();
  } catch (error) {
    await stop();
    throw error;
  }
  const url = (database: string) => `postgres://${USER}@${HOST}:${server.port}/${database}`;
  return {
    host: HOST,
    directory,
    port: server.port,
    data: join(directory, 'data'),
    url,
    createDatabase: () => createDatabase(url),
    recreateDatabase: (of) => recreateDatabase(url('postgres'), new URL(of).pathname.slice(1)),
    dump: (of) => execFileSync(programs.dump, ['--clean', '--if-exists', of], { encoding: 'utf8' }),
    restore: (of, dump) =>
      execFileSync(programs.psql, ['--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1', of], {
        input: dump,
        stdio: ['pipe', 'ignore', 'inherit'],
      }),
    halt: () => server.halt(),
    start: () => server.start(),
    stop,
  };
}

async function makeData(
  { initdb, basebackup }: Programs,
  directory: string,
  owner: Owner | null,
  { standbyOf, files = {} }: PostgresOptions,
): Promise<void> {
  const data = join(directory, 'data');
  const execute = (program: string, args: readonly string[]) =>
    promisify(execFile)(program, args, { ...owner, cwd: directory });
  if (standbyOf === undefined) {
    const options = ['--auth=trust', `--username=${USER}`, '--encoding=UTF8', '--no-locale', '--no-sync'];
    await execute(initdb, [`--pgdata=${data}`, ...options]);
  } else {
    const from = `host=${HOST} port=${standbyOf.port} user=${USER}`;
    await execute(basebackup, ['-D', data, '-d', from, '-c', 'fast', '--write-recovery-conf', '--no-sync']);
  }
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (owner !== null) chownSync(path, owner.uid, owner.gid);
  }
}

class Server {
  port = 0;
  readonly #program: string;
  readonly #directory: string;
  readonly #owner: Partial<Owner>;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;

  constructor(program: string, directory: string, owner: Partial<Owner>, settings: readonly string[]) {
    this.#program = program;
    this.#directory = directory;
    this.#owner = owner;
    this.#settings = settings;
  }

  async startOnFreePort(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.port = await freePort();
      try {
        return await this.start();
      } catch (error) {
        if (attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  async start(): Promise<void> {
    const place = [
      `port=${this.port}`,
      `listen_addresses=${HOST}`,
      `unix_socket_directories=${this.#directory}`,
    ];
    const settings = [...place, ...SETTINGS, ...this.#settings].flatMap((setting) => ['-c', setting]);
    const server = spawn(this.#program, ['-D', join(this.#directory, 'data'), ...settings], {
      ...this.#owner,
      cwd: this.#directory,
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe'],
      // Out of the terminal's reach: an interrupt ends the tests, and they or the guardian end the server.
      detached: true,
    });
    this.#process = server;
    await readiness(server);
  }

  /** SIGINT is PostgreSQL's fast shutdown: open connections are told and cut. At once, with SIGQUIT, nothing is kept. */
  async halt(how: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    server.kill(how);
    await once(server, 'exit');
  }
}

function readiness(server: ChildProcess): Promise<void> {
  let log = '';
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', () => reject(new Error(`PostgreSQL did not start: ${log}`)));
    server.stderr?.on('data', (chunk) => {
      log = (log + String(chunk)).slice(-MAX_LOG_LENGTH);
      if (/ready to accept (?:read-only )?connections/.test(log)) resolve();
    });
  });
}

/**
 * Waits for the end of its input, which is the end of this process however it comes, kill -9 too. Then it ends the
 * server whose pid is in the data directory that only this test knows, and removes the directory.
 */
function guard(directory: string): ChildProcess {
  const script = `cat >/dev/null
    pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
    while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    rm -rf "$1"`;
  return spawn('sh', ['-c', script, 'guardian', directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
}

async function createDatabase(url: (database: string) => string): Promise<string> {
  const name = `test_${Date.now()}_${Math.random().toString(36).slice(2)}`;
  await query(url('postgres'), `create database ${name}`);
  return url(name);
}

async function recreateDatabase(maintenance: string, name: string): Promise<void> {
  await query(maintenance, `drop database ${name} with (force)`);
  await query(maintenance, `create database ${name}`);
}

async function query(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return address.port;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, and so does its pooler. */
export function unprivilegedUser(): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = ['postgres', 'nobody'].flatMap((name) => users.filter((fields) => fields[0] === name))[0];
  if (user === undefined)
    throw new Error('As root, PostgreSQL needs a user `postgres` or `nobody` to run as.');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
  readonly basebackup: string;
  readonly dump: string;
  readonly psql: string;
}

function findPostgres(): Programs {
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...versionsIn('/usr/lib/postgresql').map((name) => `/usr/lib/postgresql/${name}/bin`),
    ...['/opt/homebrew/opt', '/usr/local/opt'].flatMap((opt) =>
      versionsIn(opt)
        .filter((name) => name.startsWith('postgresql'))
        .map((name) => `${opt}/${name}/bin`),
    ),
  ];
  for (const directory of directories) {
    const programs = {
      initdb: join(directory, 'initdb'),
      postgres: join(directory, 'postgres'),
      basebackup: join(directory, 'pg_basebackup'),
      dump: join(directory, 'pg_dump'),
      psql: join(directory, 'psql'),
    };
    if (Object.values(programs).every(isExecutable)) return programs;
  }
  // No test is skipped for it, here or in CI: an untried engine must not look like a tried one.
  throw new MissingProgram('PostgreSQL', 'apt-get install postgresql');
}

/** The newest first. */
function versionsIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort((a, b) => b.localeCompare(a, undefined, { numeric: true }));
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
