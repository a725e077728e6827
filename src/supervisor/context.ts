/** What every use case works with. */
import { userInfo } from 'node:os';
import { createLinuxProcessTable } from '../process/linux.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { RUN_MARK } from '../process/tree.ts';
import { openStore } from '../store/open.ts';
import type { Patience } from '../store/patience.ts';
import type { Store } from '../store/store.ts';
import { homeAt, homeFrom, prepareHome } from './home.ts';
import type { Home } from './home.ts';
import { installationOf } from './installation.ts';
import { keepContinuity } from './ownership/continuity.ts';
import { refuseInsideOtherStore } from './ownership/other-store.ts';
import { isStoreWithheld, notFromInside } from './withheld.ts';
import { isWriteRefused } from '../store/write-refused.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Context {
  readonly home: Home;
  readonly store: Store;
  readonly table: ProcessTable;
  /** Who acts, as the record will say: a person, or the run inside which this happens. */
  readonly actor: string;
  readonly environment: Environment;
  /** When the store was opened, it was not known whether it knows all who live: asked again before anything is claimed. */
  readonly isInDoubt?: boolean;
  /** The run whose keeper started this process to watch it: of that run's tree, this process is no part. */
  readonly watches?: string;
  readonly interruption?: Interruption;
}

/** How a command hears that it is to end while it retires a run; nothing else listens for it. */
export interface Interruption {
  /** Calls back at most once, until what it returns is called. */
  listen(heard: (signal: Interrupt) => void): () => void;
}

export type Interrupt = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface OpenOptions {
  /** The state directory; by default REEVE_HOME, or else the XDG state directory. */
  readonly home?: string;
  /** A PostgreSQL address; by default REEVE_STORE, or else SQLite in the state directory. */
  readonly store?: string;
  readonly actor?: string;
  readonly environment?: Environment;
  /** Hears, in a sentence, when the store of an older Reeve was upgraded, or it is not known whether it knows all who live. */
  readonly tell?: (words: string) => void;
  /** For a command: an interrupted one takes back what it asked of a run that has not ended. */
  readonly interruption?: Interruption;
  /** How long a PostgreSQL that cannot be reached is waited for; by default 10 seconds. */
  readonly patience?: Patience;
}

/** What there is without the store: enough to find a daemon, also while the store is away. */
export type Machine = Pick<Context, 'home' | 'table' | 'environment'>;

export async function openMachine(options: OpenOptions = {}): Promise<Machine> {
  const { home, environment } = placeOf(options);
  prepareHome(home);
  return { home, table: await openProcessTable(installationOf(home)), environment };
}

function placeOf(options: OpenOptions): Pick<Context, 'home' | 'environment'> {
  const environment = options.environment ?? process.env;
  const home = options.home === undefined ? homeFrom(environment) : homeAt(options.home);
  return { home, environment };
}

/** Whether this is inside a run that was not given the store's address. */
export function isWithheld(options: OpenOptions): boolean {
  const { home, environment } = placeOf(options);
  return options.store === undefined && isStoreWithheld(home, environment);
}

/** By whoever calls it; or by a keeper, which knows its own store, whatever it was started below. */
export type Opener = 'anybody' | 'keeper';

export async function openContext(options: OpenOptions = {}, opener: Opener = 'anybody'): Promise<Context> {
  const machine = await openMachine(options);
  const { home, table, environment } = machine;
  if (isWithheld(options)) throw notFromInside();
  const postgres = options.store ?? environment['REEVE_STORE'] ?? '';
  if (postgres === '' && opener === 'anybody') refuseInsideOtherStore(machine);
  const migrating = {
    before: async () => (await import('./daemon-place.ts')).refuseBesideOlderDaemon(machine),
    ...(options.tell === undefined ? {} : { tell: options.tell }),
  };
  const store = await openStore(
    postgres === ''
      ? { sqlite: home.database, migrating }
      : { postgres, environment, migrating, ...patienceOf(options) },
  );
  const context = {
    home,
    store,
    table,
    actor: options.actor ?? actorFrom(environment),
    // What is started from here is told of the same store, or told that it is withheld.
    environment: options.store === undefined ? environment : { ...environment, REEVE_STORE: options.store },
    ...(options.interruption === undefined ? {} : { interruption: options.interruption }),
  };
  try {
    const doubt = await keepContinuity(context);
    if (doubt === null) return context;
    // Of a store that can only be read everybody knows that it is not up to date.
    const words = `${doubt.message} Until then nothing is started, and runs that the store has lost may be missing.`;
    if (!isWriteRefused(doubt)) options.tell?.(words);
    return { ...context, isInDoubt: true };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function patienceOf({ patience }: OpenOptions): { patience?: Patience } {
  return patience === undefined ? {} : { patience };
}

async function openProcessTable(installation: string): Promise<ProcessTable> {
  return process.platform === 'darwin'
    ? (await import('../process/darwin.ts')).createDarwinProcessTable(undefined, installation)
    : createLinuxProcessTable(undefined, installation);
}

/** For those who watch from outside, as the demo does: there, and not only waiting to be collected. */
export async function isExecuting(pid: number): Promise<boolean> {
  const reading = (await openProcessTable('')).read(pid);
  return reading.is === 'there' && !reading.fact.isZombie;
}

function actorFrom(environment: Environment): string {
  const run = environment[RUN_MARK];
  return run === undefined || run === '' ? userName() : `run ${run}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the password file, as in some containers.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
