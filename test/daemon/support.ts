/** A real daemon on a sandbox, asked with full control over what the request says, and proven gone at the end. */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { RunView, SessionView } from '../../src/api/session-view.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';
import type { Sandbox } from '../support/sandbox.ts';

export interface Question {
  /** The socket unless it is said otherwise. */
  readonly via?: 'socket' | 'loopback';
  /** Over the loopback the token goes along unless `authorization` or `cookie` is given; null leaves a header out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** A text goes as it is; anything else as JSON, and says so. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The caller names the shape it then compares. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  json<T = Failure>(): T;
}

export interface Failure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

interface Stream {
  readonly status: number;
  /** All that has come so far. */
  text(): string;
  /** The data of every event that has come so far. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  events<T>(): readonly T[];
  /** Settles when the daemon ends it. */
  readonly ended: Promise<void>;
  /** Leaves it. */
  close(): void;
}

export interface Daemon {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly pid: number;
  /** Its files. */
  path(name: 'socket' | 'token' | 'log' | 'daemon.json' | 'lock' | ''): string;
  ask(method: string, path: string, question?: Question): Promise<Answer>;
  /** Opens what goes on for ever; settles once it has begun. */
  stream(path: string, question?: Question): Promise<Stream>;
  /** Ends it through `serve stop`, and proves it gone; nothing when it is gone already. */
  stop(): Promise<void>;
  /** SIGKILL for exactly this process. */
  kill(): Promise<void>;
  /** Ends it if it lives, and starts the next one. */
  restart(): Promise<void>;
}

export async function openDaemon(sandbox: Sandbox): Promise<Daemon> {
  let { seen, port } = await start(sandbox);
  const path: Daemon['path'] = (name) => join(sandbox.home, 'daemon', name);
  const token = () => readFileSync(path('token'), 'utf8').trim();
  const place = () => ({ port, socket: path('socket'), token: token() });
  const gone = () => eventually('the daemon is gone', () => !isAlive(seen));
  const stop = async () => {
    if (!isAlive(seen)) return;
    await sandbox.json(['serve', 'stop']);
    if (isAlive(seen)) throw new Error(`serve stop left the daemon ${seen.pid} alive.`);
  };
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get token() {
      return token();
    },
    get pid() {
      return seen.pid;
    },
    path,
    ask: async (method, target, question = {}) => whole(await asked(place(), method, target, question)),
    stream: async (target, question = {}) => streamed(await asked(place(), 'GET', target, question)),
    stop,
    kill: async () => {
      signalSeen(seen, 'SIGKILL');
      await gone();
    },
    restart: async () => {
      await stop();
      ({ seen, port } = await start(sandbox));
    },
  };
}

async function start(sandbox: Sandbox): Promise<{ seen: Seen; port: number }> {
  const { pid, url } = await sandbox.json<{ pid: number; url: string }>(['serve', '--detach']);
  return { seen: see(pid), port: Number(new URL(url).port) };
}

/** Asks whichever daemon serves the sandbox right now. */
export async function askDaemon(
  sandbox: Sandbox,
  method: string,
  target: string,
  question: Question = {},
): Promise<Answer> {
  const place = { port: 0, socket: join(sandbox.home, 'daemon', 'socket'), token: '' };
  return whole(await asked(place, method, target, { ...question, via: 'socket' }));
}

interface Place {
  readonly port: number;
  readonly socket: string;
  readonly token: string;
}

function asked(place: Place, method: string, path: string, question: Question): Promise<IncomingMessage> {
  const { via = 'socket', headers: given = {}, body } = question;
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const isShown = 'authorization' in given || 'cookie' in given;
  const headers = Object.entries({
    ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
    ...(via === 'loopback' && !isShown ? { authorization: `Bearer ${place.token}` } : {}),
    ...given,
  }).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        ...(via === 'socket' ? { socketPath: place.socket } : { host: '127.0.0.1', port: place.port }),
        method,
        path,
        agent: false,
        setHost: !('host' in given),
        headers: Object.fromEntries(headers),
      },
      resolve,
    );
    sent.once('error', reject);
    sent.end(isText || body === undefined ? body : JSON.stringify(body));
  });
}

async function whole(message: IncomingMessage): Promise<Answer> {
  let text = '';
  message.setEncoding('utf8');
  for await (const chunk of message) text += String(chunk);
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    text,
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
    json: <T>() => JSON.parse(text) as T,
  };
}

function streamed(message: IncomingMessage): Stream {
  let text = '';
  message.setEncoding('utf8');
  message.on('data', (chunk) => (text += String(chunk)));
  // A connection that is cut is an end too.
  message.on('error', () => {});
  return {
    status: message.statusCode ?? 0,
    text: () => text,
    events: <T>() => [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as T),
    ended: new Promise((resolve) => message.once('close', () => resolve())),
    close: () => message.destroy(),
  };
}

/** What became of it in two words: the status and, where the daemon itself answered, the code. */
export function told({ status, text }: Answer): string {
  if (!text.startsWith('{')) return `${status}`;
  const { error } = JSON.parse(text) as Partial<Failure>;
  return `${status} ${error?.code ?? 'ok'}`;
}

export interface Holder {
  readonly run: RunView;
  readonly bearer: string;
}

/** A run that tells its token, as a harness could. */
export async function runWithToken(
  sandbox: Sandbox,
  name: string,
  ...flags: readonly string[]
): Promise<Holder> {
  const script =
    'printf "%s.%s\\n" "$REEVE_RUN" "$REEVE_TOKEN" > "$REEVE_RUN.new"; mv "$REEVE_RUN.new" "$REEVE_RUN"; exec sleep 3600';
  const words = ['run', '--detach', ...flags, '-s', name, '--', 'sh', '-c', script];
  const { run } = await sandbox.json<SessionView>(words);
  const file = sandbox.path(run.id);
  await eventually('its token is told', () => existsSync(file));
  return { run, bearer: `Bearer ${readFileSync(file, 'utf8').trim()}` };
}

/** A browser's cookie, by a link of its own. */
export async function passFor(daemon: Daemon): Promise<string> {
  const { url } = (await daemon.ask('POST', '/v1/link', { body: {} })).json<{ url: string }>();
  const { pathname, search } = new URL(url);
  const answer = await daemon.ask('GET', pathname + search, { via: 'loopback', headers: { cookie: '' } });
  return answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}
