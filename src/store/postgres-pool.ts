/**
 * A few connections, used again. Each has a listener for its errors as long as it exists: one that dies in the moment
 * in which it is handed over is found out by its first use, and ends nobody's process.
 */
import type { Socket } from 'node:net';
import type pg from 'pg';
import { isConnectionLoss, isReadOnly, Unreached } from './postgres-errors.ts';

const IDLE_MS = 10_000;
const GOODBYE_MS = 1_000;

export class PostgresPool {
  readonly #connect: () => Promise<pg.Client>;
  readonly #limit: number;
  /** The one given back last is taken first, so that the others can be let go. */
  readonly #idle: { readonly client: pg.Client; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: (() => void)[] = [];
  /** How many are lent or being made. */
  #lent = 0;
  #isClosed = false;
  #allBack: (() => void) | undefined;

  constructor(connect: () => Promise<pg.Client>, limit: number) {
    this.#connect = connect;
    this.#limit = limit;
  }

  /** Rejects with `Unreached` when no connection can be made, or none became free in time. */
  async use<T>(giveUpAtMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('The store is closed.');
    while (this.#lent >= this.#limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (performance.now() > giveUpAtMs) {
        this.#waiting.shift()?.();
        throw new Unreached('No connection became free.', { cause: new Error('timeout expired') });
      }
    }
    this.#lent += 1;
    let spared: pg.Client | undefined;
    try {
      const client = await this.#take();
      spared = client;
      return await work(client);
    } catch (error) {
      if (spared !== undefined && (isConnectionLoss(error) || isReadOnly(error))) {
        discard(spared);
        spared = undefined;
      }
      throw error;
    } finally {
      if (spared !== undefined) this.#giveBack(spared);
      this.#lent -= 1;
      this.#waiting.shift()?.();
      if (this.#lent === 0) this.#allBack?.();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#lent > 0) await new Promise<void>((resolve) => (this.#allBack = resolve));
    const idle = this.#idle.splice(0);
    for (const { timer } of idle) clearTimeout(timer);
    await Promise.all(idle.map(({ client }) => sayGoodbye(client)));
  }

  async #take(): Promise<pg.Client> {
    const spared = this.#idle.pop();
    if (spared !== undefined) {
      clearTimeout(spared.timer);
      socketOf(spared.client).ref();
      return spared.client;
    }
    try {
      const client = await this.#connect();
      client.once('end', () => this.#drop(client));
      return client;
    } catch (error) {
      throw new Unreached('No connection could be made.', { cause: error });
    }
  }

  #giveBack(client: pg.Client): void {
    if (socketOf(client).destroyed) return;
    // An idle connection must not keep a command from exiting.
    socketOf(client).unref();
    const timer = setTimeout(() => this.#drop(client), IDLE_MS).unref();
    this.#idle.push({ client, timer });
  }

  #drop(client: pg.Client): void {
    const index = this.#idle.findIndex((item) => item.client === client);
    if (index === -1) return;
    for (const { timer } of this.#idle.splice(index, 1)) clearTimeout(timer);
    discard(client);
  }
}

/** Waited for, so that a process does not exit in the middle of it; of a server that is silent, not for long. */
async function sayGoodbye(client: pg.Client): Promise<void> {
  const socket = socketOf(client).ref();
  const timer = setTimeout(() => socket.destroy(), GOODBYE_MS);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** Whether it is told makes no difference to anybody any more. */
function discard(client: pg.Client): void {
  client.end().catch(() => {});
  socketOf(client).unref();
}

function socketOf(client: pg.Client): Socket {
  // Made by openSocket, of which the driver knows only that it is a stream.
  return client.connection.stream as Socket;
}
