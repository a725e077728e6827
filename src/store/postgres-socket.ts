/** A socket to one PostgreSQL server, encrypted or not, before a word of its protocol was spoken on it. */
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import type { PostgresHost } from './postgres-target.ts';

/** `if offered` goes on in the clear when the server cannot encrypt. */
export type Encryption = 'none' | 'if offered' | 'required' | 'direct';

/** The server, or this side, does not get through TLS: no other try of the same kind would. */
export class TlsFailure extends Error {
  override readonly name = 'TlsFailure';
}

/** A message of 8 bytes with the number that asks for TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

export async function openSocket(
  host: PostgresHost,
  encryption: Encryption,
  options: (host: string) => ConnectionOptions,
  timeoutMs: number,
): Promise<Socket> {
  const raw = isLocal(host) ? connect(localPath(host)) : connect(host.port, host.address ?? host.name);
  const timer = setTimeout(() => raw.destroy(timedOut()), timeoutMs);
  try {
    await happens(raw, 'connect');
    // Nobody listens in on a socket of this machine, and libpq does not encrypt it either.
    if (encryption === 'none' || isLocal(host)) return raw;
    const isOffered = encryption === 'direct' || (await offersTls(raw));
    if (isOffered) return await encrypted(raw, host.name, encryption, options(host.name));
    if (encryption === 'if offered') return raw;
    throw new TlsFailure('the server does not encrypt, and sslmode asks for it');
  } catch (error) {
    raw.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function isLocal({ name, address }: PostgresHost): boolean {
  return address === null && name.startsWith('/');
}

function localPath({ name, port }: PostgresHost): string {
  return join(name, `.s.PGSQL.${port}`);
}

async function offersTls(raw: Socket): Promise<boolean> {
  raw.write(SSL_REQUEST);
  const answer = await firstBytes(raw);
  // More than the one byte was put there by somebody in between.
  if (answer.length !== 1) throw new TlsFailure('its answer to the question for TLS cannot be understood');
  const letter = answer.toString('latin1');
  if (letter === 'S' || letter === 'N') return letter === 'S';
  throw new TlsFailure('it answered the question for TLS with an error');
}

async function encrypted(
  raw: Socket,
  name: string,
  encryption: Encryption,
  options: ConnectionOptions,
): Promise<Socket> {
  const socket = connectTls({
    ...options,
    socket: raw,
    // An address is no name of a server (RFC 6066).
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(encryption === 'direct' ? { ALPNProtocols: ['postgresql'] } : {}),
  });
  try {
    await happens(socket, 'secureConnect');
  } catch (error) {
    socket.destroy();
    // A connection that is lost meanwhile is no fault of TLS, and may be there the next time.
    if (isLoss(error)) throw error;
    throw new TlsFailure(error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (encryption !== 'direct' || socket.alpnProtocol === 'postgresql') return socket;
  socket.destroy();
  throw new TlsFailure('the server does not speak TLS directly');
}

function firstBytes(socket: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    socket.once('data', (chunk) => {
      // Until somebody else listens, nothing may be read and so lost.
      socket.pause();
      stop();
      resolve(Buffer.from(chunk));
    });
    const stop = onFailure(socket, reject);
  });
}

function happens(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => {
      stop();
      resolve();
    });
    const stop = onFailure(socket, reject);
  });
}

function onFailure(socket: Socket, fail: (error: Error) => void): () => void {
  const closed = () => fail(new Error('Connection terminated unexpectedly'));
  socket.on('error', fail).on('close', closed);
  return () =>
    socket
      .off('close', closed)
      .off('error', fail)
      .on('error', () => {});
}

function timedOut(): Error {
  return Object.assign(new Error('it does not answer in time'), { code: 'ETIMEDOUT' });
}

function isLoss(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return ['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code);
}
