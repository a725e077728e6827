/** A real PgBouncer in front of a test's server, in transaction mode: each transaction may be on another connection. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, unprivilegedUser } from './postgres.ts';
import type { PostgresServer } from './postgres.ts';
import { eventually } from './processes.ts';

export interface Pgbouncer {
  /** The same database, through it. */
  url(direct: string): string;
  stop(): Promise<void>;
}

export async function startPgbouncer(
  server: PostgresServer,
  settings: readonly string[] = [],
): Promise<Pgbouncer> {
  const directory = mkdtempSync(join(tmpdir(), 'reeve-pgbouncer-'));
  const owner = unprivilegedUser();
  const port = await freePort();
  const configuration = [
    '[databases]',
    `* = host=${server.host} port=${server.port} user=reeve`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    // Fewer than there are clients, so that they share.
    'default_pool_size = 2',
    'max_client_conn = 200',
    'server_idle_timeout = 2',
    ...settings,
  ];
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(file, `${configuration.join('\n')}\n`);
  chmodSync(directory, 0o755);
  if (owner !== null) chownSync(directory, owner.uid, owner.gid);
  // Its input ends with this process, however that comes, and then it ends the pooler and what it left.
  const script = `PATH="$PATH:/usr/sbin:/usr/local/sbin"; pgbouncer -q "$1" & pid=$!
    cat >/dev/null; kill "$pid"; wait "$pid"; rm -rf "\${1%/*}"`;
  const guardian = spawn('sh', ['-c', script, 'pgbouncer', file], {
    ...owner,
    cwd: directory,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  await eventually('PgBouncer answers', () => answers(port));
  return {
    url: (direct) => direct.replace(`:${server.port}/`, `:${port}/`),
    stop: async () => {
      guardian.stdin?.end();
      if (guardian.exitCode === null) await once(guardian, 'exit');
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
