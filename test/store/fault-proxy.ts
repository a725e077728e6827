/**
 * A TCP proxy that understands just enough of PostgreSQL's protocol to do harm at a COMMIT.
 *
 * From a client come a start-up message (length, body) and then messages of (type, length, body); a COMMIT is a simple
 * query, type Q. The server answers it with CommandComplete `COMMIT` and ReadyForQuery, type Z.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

export type CommitFault =
  /** The server never gets it. */
  | { readonly kind: 'cut before' }
  /** The server has done it, the client never hears. */
  | { readonly kind: 'cut after' }
  /** The client is cut off at once, and the server gets it only when `meanwhile` is over. */
  | { readonly kind: 'cut, passed on later'; meanwhile(): Promise<void> }
  /** The server gets it when `meanwhile` is over. */
  | { readonly kind: 'delay'; meanwhile(): Promise<void> }
  /** Nothing passes on this connection any more, and neither side is told. */
  | { readonly kind: 'mute' };

export interface FaultProxy {
  /** The same database, through the proxy. */
  url(direct: string): string;
  /** The faults that the next commits meet, one each. */
  atCommits(...faults: CommitFault[]): void;
  /** So many next connections are killed by the server in the moment in which they are ready. */
  atHandOvers(count: number): void;
  /** How many of them were met. */
  faultsMet(): number;
  /** Nothing passes any more, on old and new connections. */
  mute(): void;
  close(): Promise<void>;
}

export async function startFaultProxy(target: { host: string; port: number }): Promise<FaultProxy> {
  const state: State = { pending: [], handOvers: 0, met: 0, isMute: false, sockets: new Set() };
  const server = createServer((client) => join(state, client, connect(target.port, target.host)));
  server.listen(0, target.host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
  return {
    url: (direct) => direct.replace(`:${target.port}/`, `:${address.port}/`),
    atCommits: (...faults) => state.pending.push(...faults),
    atHandOvers: (count) => {
      state.handOvers = count;
    },
    faultsMet: () => state.met,
    mute: () => {
      state.isMute = true;
    },
    close: async () => {
      for (const socket of state.sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface State {
  readonly pending: CommitFault[];
  handOvers: number;
  met: number;
  isMute: boolean;
  readonly sockets: Set<Socket>;
}

function join(state: State, client: Socket, server: Socket): void {
  let isMute = false;
  let answer: 'pass' | 'cut when complete' = 'pass';
  let answered = '';
  const cut = () => {
    client.destroy();
    server.destroy();
  };
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    state.sockets.add(socket);
    socket.setNoDelay();
    // What happens to a cut connection is seen by the client under test, not here.
    socket.on('error', () => {});
    socket.on('close', () => {
      state.sockets.delete(socket);
      // Through silence not even an end is heard: the server goes on waiting for its client.
      if (isMute || state.isMute) return;
      if (other === client || answer === 'pass') other.destroy();
    });
  }
  const meet = (fault: CommitFault, message: Buffer) => {
    state.met += 1;
    switch (fault.kind) {
      case 'cut before':
        return cut();
      case 'cut after':
        answer = 'cut when complete';
        server.write(message);
        return;
      case 'cut, passed on later':
        answer = 'cut when complete';
        client.destroy();
        void fault.meanwhile().then(() => server.write(message));
        return;
      case 'delay':
        void fault.meanwhile().then(() => server.write(message));
        return;
      case 'mute':
        isMute = true;
        return;
    }
  };
  const read = messageReader((message) => {
    const fault = isCommit(message) ? state.pending.shift() : undefined;
    if (fault === undefined) server.write(message);
    else meet(fault, message);
  });
  client.on('data', (chunk) => {
    if (!state.isMute && !isMute) read(Buffer.from(chunk));
  });
  server.on('data', (chunk) => {
    if (state.isMute || isMute) return;
    if (state.handOvers > 0 && chunk.includes(READY)) {
      state.handOvers -= 1;
      state.met += 1;
      client.end(Buffer.concat([Buffer.from(chunk), KILLED]));
      server.destroy();
      return;
    }
    if (answer === 'pass') {
      client.write(chunk);
      return;
    }
    answered += Buffer.from(chunk).toString('latin1');
    if (/COMMIT\0Z/.test(answered)) cut();
  });
}

/** ReadyForQuery, and what a server says before it ends a connection: in one piece, as they come when it is killed then. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const KILLED = errorMessage(
  'SFATAL',
  'VFATAL',
  'C57P01',
  'Mterminating connection due to administrator command',
);

function errorMessage(...fields: readonly string[]): Buffer {
  const body = Buffer.from(`${fields.join('\0')}\0\0`, 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from('E'), length, body]);
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** Calls back with each whole message, however the bytes arrive. */
function messageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let typeLength = 0; // The start-up message has no type, nor has the question for TLS before it.
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      if (rest.length < typeLength + 4) return;
      const length = typeLength + rest.readUInt32BE(typeLength);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      onMessage(message);
      rest = rest.subarray(length);
      if (!message.equals(SSL_REQUEST)) typeLength = 1;
    }
  };
}

function isCommit(message: Buffer): boolean {
  return (
    message.toString('latin1', 0, 1) === 'Q' && message.toString('latin1', 5, 11).toLowerCase() === 'commit'
  );
}
