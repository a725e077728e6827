/** Looks whether Reeve can keep its promises here, and says what is missing. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { ReeveError } from '../api/errors.ts';
import type { ErrorCode } from '../api/errors.ts';
import { deriveStatus } from '../lifecycle/status.ts';
import { bestContainment } from '../process/containment.ts';
import { findPerl } from '../process/keeper.ts';
import { roomForMark } from '../process/run-mark.ts';
import { probe } from '../process/liveness.ts';
import { identify } from '../process/process-table.ts';
import { configPath } from './config-path.ts';
import { containmentLimit } from './containment-limit.ts';
import { readConfig } from './config.ts';
import { openContext } from './context.ts';
import type { Context, OpenOptions } from './context.ts';
import { checkProcesses } from './doctor-processes.ts';
import {
  checkDaemon,
  checkGit,
  checkHarnesses,
  checkHooks,
  checkShims,
  checkTmux,
} from './doctor-surroundings.ts';
import { homeFrom } from './home.ts';
import { reconcileAll } from './reconcile.ts';

export interface Check {
  readonly name: string;
  readonly is: 'good' | 'poor' | 'bad';
  readonly says: string;
  /** Of an error, what other commands call it. */
  readonly code?: ErrorCode;
}

export async function doctor(options: OpenOptions = {}): Promise<readonly Check[]> {
  const environment = options.environment ?? process.env;
  const checks: Check[] = [
    checkNode(),
    checked('keeper', checkPerl),
    checked('containment', () => checkContainment(environment)),
    ...checkMark(),
    checkedAsPoor('tmux', checkTmux),
    checkGit(),
    checked('config', () => checkConfiguration(environment)),
    ...(await checkSettings(environment)),
  ];
  let context: Context;
  try {
    context = await openContext(options);
  } catch (error) {
    return [...checks, failed('store', error)];
  }
  try {
    checks.push(...(await checkStore(context)));
    checks.push(checked('processes', () => checkProbe(context)));
    checks.push(await checkRuns(context));
    checks.push(...(await checkProcesses(context)));
    checks.push(checked('daemon', () => checkDaemon(context, Date.now())));
    return checks;
  } finally {
    await context.store.close();
  }
}

async function checkStore({ store }: Context): Promise<readonly Check[]> {
  const checks: Check[] = [await checkWriting(store)];
  if (await store.isCopiedLater()) {
    checks.push({
      name: 'standbys',
      is: 'poor',
      says: 'No standby of the store is waited for (synchronous_standby_names is empty): a failover may lose claims, and then nothing starts until every host has announced its runs.',
    });
  }
  const silent = (await store.hosts()).filter(({ hasAnnounced }) => !hasAnnounced);
  if (silent.length > 0) {
    const names = silent.map(({ name, id }) => `${name} (${id})`).join(', ');
    checks.push({
      name: 'hosts',
      is: 'bad',
      says: `The store has lost part of its history, and nothing starts until these hosts have announced their runs: ${names}.`,
    });
  }
  return checks;
}

/** Seen, not supposed: what a start and an end write is written, and taken back. */
async function checkWriting(store: Context['store']): Promise<Check> {
  const place = `${store.engine} at ${store.place}`;
  try {
    await store.tryWrite();
    return { name: 'store', is: 'good', says: `${place} can be read and written.` };
  } catch (error) {
    const hint = error instanceof ReeveError && error.hint !== undefined ? ` ${error.hint}` : '';
    return {
      name: 'store',
      is: 'bad',
      says: `${place} can be read, but not written: ${sentenceOf(error)}${hint}`,
    };
  }
}

function checkConfiguration(environment: NonNullable<OpenOptions['environment']>): Check {
  readConfig(environment);
  const path = configPath(environment);
  const says = existsSync(path) ? `${path} is in order.` : `There is none, so the defaults apply (${path}).`;
  return { name: 'config', is: 'good', says };
}

/** What is in the settings of others never keeps a promise of Reeve's from being kept. */
async function checkSettings(
  environment: NonNullable<OpenOptions['environment']>,
): Promise<readonly Check[]> {
  const parts = {
    harnesses: async () => [await checkHarnesses(environment)],
    hooks: () => checkHooks(environment),
    // Without a state directory there is no place of theirs; why there is none is said of the store.
    shims: async () => (hasHome(environment) ? checkShims(environment) : []),
  };
  const found = Object.entries(parts).map(async ([name, check]): Promise<readonly Check[]> => {
    try {
      return await check();
    } catch (error) {
      return [{ name, is: 'poor', says: sentenceOf(error) }];
    }
  });
  return (await Promise.all(found)).flat();
}

function hasHome(environment: NonNullable<OpenOptions['environment']>): boolean {
  try {
    homeFrom(environment);
    return true;
  } catch {
    return false;
  }
}

function checkedAsPoor(name: string, check: () => Check): Check {
  const found = checked(name, check);
  return found.is === 'bad' ? { name, is: 'poor', says: found.says } : found;
}

function checkNode(): Check {
  return {
    name: 'node',
    is: 'good',
    says: `Node ${process.versions.node} on ${process.platform} ${process.arch}.`,
  };
}

function checkPerl(): Check {
  const perl = findPerl();
  const version = execFileSync(perl, ['-e', 'print $^V'], { encoding: 'utf8', env: { LC_ALL: 'C' } });
  return { name: 'keeper', is: 'good', says: `${perl} ${version} keeps runs.` };
}

function checkContainment(environment: NonNullable<OpenOptions['environment']>): Check {
  containmentLimit({ environment });
  const by = bestContainment();
  switch (by) {
    case 'cgroup':
      return {
        name: 'containment',
        is: 'good',
        says: 'Each run gets a cgroup of its own, and its keeper is the subreaper: whatever it starts is found.',
      };
    case 'subreaper':
      return {
        name: 'containment',
        is: 'good',
        says: 'The keeper is the subreaper of its run: orphans come to it (no cgroup can be made here).',
      };
    case 'marks':
      return {
        name: 'containment',
        is: 'poor',
        says: 'Only group, session, parents and marks: a process that leaves all four is not found.',
      };
  }
}

/** Without it a run is kept all the same; it is worth a word only where it could be had. */
function checkMark(): readonly Check[] {
  const room = roomForMark();
  if (room.is !== 'too_little') return [];
  const lost =
    bestContainment() === 'cgroup'
      ? 'are found only in its cgroup after their keeper is killed'
      : 'are not found after their keeper is killed';
  return [
    {
      name: 'mark',
      is: 'poor',
      says: `The hard limit of file locks (ulimit -Hx) is ${room.limit}, too low for the mark that the kernel keeps of a run: programs that empty their environment ${lost}.`,
    },
  ];
}

/** The probe must find this very process alive, or nothing it says of others can be trusted. */
function checkProbe(context: Context): Check {
  const seen = probe(context.table, identify(context.table, process.pid));
  return seen.is === 'alive'
    ? {
        name: 'processes',
        is: 'good',
        says: 'The process table can be read, and tells this process from others.',
      }
    : { name: 'processes', is: 'bad', says: `This very process was found ${seen.is}: ${seen.because}.` };
}

async function checkRuns(context: Context): Promise<Check> {
  const live = await context.store.live();
  const seen = await reconcileAll(context, live);
  const doubts = live.flatMap(({ session }, index) => {
    const each = seen[index];
    if (each === undefined || deriveStatus(each.run, each.liveness, each.because) !== 'unknown') return [];
    // That it lives is known, and only what it does is not: there is nothing to settle.
    if (each.liveness === 'alive' && each.because === null) return [];
    return [`${session.name} (${each.because ?? 'no reason known'})`];
  });
  if (doubts.length === 0)
    return { name: 'runs', is: 'good', says: `${live.length} on record as live, all accounted for.` };
  return {
    name: 'runs',
    is: 'poor',
    says: `Not known how it is with: ${doubts.join('; ')}. Look once more at each: reeve settle`,
  };
}

function checked(name: string, check: () => Check): Check {
  try {
    return check();
  } catch (error) {
    return failed(name, error);
  }
}

function failed(name: string, error: unknown): Check {
  const code = error instanceof ReeveError ? { code: error.code } : {};
  return { name, is: 'bad', says: sentenceOf(error), ...code };
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
