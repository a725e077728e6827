/** One connection, as libpq makes it: host by host, encrypted or not, and only to a server of the wanted kind. */
import type { Socket } from 'node:net';
import pg from 'pg';
import { isConnectionLoss } from './postgres-errors.ts';
import type { PostgresPlan, WantedSession } from './postgres-parameters.ts';
import type { PostgresHost } from './postgres-target.ts';
import { openSocket, TlsFailure } from './postgres-socket.ts';
import type { Encryption } from './postgres-socket.ts';
import type { SslMode } from './postgres-tls.ts';

export interface ClientSettings {
  readonly applicationName: string;
  readonly queryTimeoutMs: number;
}

/** There, but not of the kind that `target_session_attrs` asks for: another host may be, or this one soon. */
class UnwantedServer extends Error {
  readonly code = '57P03';
}

/** A connection on which an error without a listener cannot end this process, from its first moment on. */
export async function connectPostgres(plan: PostgresPlan, settings: ClientSettings): Promise<pg.Client> {
  if (plan.wanted !== 'prefer-standby') return connectAny(plan, settings, plan.wanted);
  try {
    return await connectAny(plan, settings, 'standby');
  } catch {
    return connectAny(plan, settings, 'any');
  }
}

async function connectAny(
  plan: PostgresPlan,
  settings: ClientSettings,
  wanted: WantedSession,
): Promise<pg.Client> {
  const failures: unknown[] = [];
  for (const host of plan.hosts) {
    try {
      return await connectHost(plan, host, settings, wanted);
    } catch (error) {
      failures.push(error);
      // Whoever answers and refuses would be asked in vain elsewhere too; that is libpq's rule.
      if (!isConnectionLoss(error)) break;
    }
  }
  if (failures.length === 1) throw failures[0];
  throw new AggregateError(failures, failures.map(messageOf).join('; '));
}

async function connectHost(
  plan: PostgresPlan,
  host: PostgresHost,
  settings: ClientSettings,
  wanted: WantedSession,
): Promise<pg.Client> {
  const [first, second] = encryptions(plan.tls.mode, plan.tls.negotiation);
  try {
    return await logIn(plan, host, first, settings, wanted);
  } catch (error) {
    if (second === undefined || !isAboutEncryption(error)) throw error;
    // What is told is what the first try met, unless the second gets through.
    return await logIn(plan, host, second, settings, wanted).catch(() => {
      throw error;
    });
  }
}

function encryptions(mode: SslMode, negotiation: 'postgres' | 'direct'): [Encryption, Encryption?] {
  switch (mode) {
    case 'disable':
      return ['none'];
    case 'allow':
      return ['none', 'required'];
    case 'prefer':
      return ['if offered', 'none'];
    case 'require':
    case 'verify-ca':
    case 'verify-full':
      return [negotiation === 'direct' ? 'direct' : 'required'];
  }
}

/** The server's list of who may come, and how, is checked before it asks for a password: class 28. */
function isAboutEncryption(error: unknown): boolean {
  return error instanceof TlsFailure || (error instanceof pg.DatabaseError && error.code === '28000');
}

async function logIn(
  plan: PostgresPlan,
  host: PostgresHost,
  encryption: Encryption,
  settings: ClientSettings,
  wanted: WantedSession,
): Promise<pg.Client> {
  const socket = await openSocket(host, encryption, plan.tls.options, plan.connectTimeoutMs);
  if (plan.keepAlive) socket.setKeepAlive(true);
  const client = new pg.Client({
    stream: () => handedOver(socket),
    // Everything is said here, for the driver would look into the environment for what is not.
    host: host.name,
    port: host.port,
    user: plan.user,
    database: plan.database,
    password: () => plan.password(host) ?? '',
    ssl: false,
    sslnegotiation: 'postgres',
    options: plan.options,
    application_name: plan.applicationName ?? settings.applicationName,
    connectionTimeoutMillis: plan.connectTimeoutMs,
    query_timeout: settings.queryTimeoutMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await requireKind(client, wanted);
    return client;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The driver wants to connect it; it is, so it only hears that it is. */
function handedOver(socket: Socket): Socket {
  return Object.assign(socket, {
    connect: () => {
      process.nextTick(() => {
        socket.resume();
        socket.emit('connect');
      });
      return socket;
    },
  });
}

async function requireKind(client: pg.Client, wanted: WantedSession): Promise<void> {
  if (wanted === 'any') return;
  const { rows } = await client.query<{ standby: boolean; readonly: string }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') as readonly`,
  );
  const isStandby = rows[0]?.standby === true;
  const isReadOnly = isStandby || rows[0]?.readonly === 'on';
  const fits = {
    primary: !isStandby,
    standby: isStandby,
    'read-write': !isReadOnly,
    'read-only': isReadOnly,
    'prefer-standby': true,
  }[wanted];
  if (!fits) throw new UnwantedServer(`the server is not ${wanted}, which target_session_attrs asks for`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
