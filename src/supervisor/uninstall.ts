/**
 * Takes Reeve off a machine: what it put into the settings of harnesses and in front of them on PATH, its daemon, its tmux
 * server, and on request its state. What is found is looked at first and listed; nothing of it is done while a run lives,
 * for its hooks, its pane and its record would go under it. What cannot be taken away is left, with the reason.
 */
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import { HOOK_TARGETS, removableHooks, removeHooks } from '../harness/hook-settings/hook-settings.ts';
import type { HookTarget } from '../harness/hook-settings/hook-settings.ts';
import { isShim, removeShims, SHIM_NAMES, shimDirectories } from '../harness/shim.ts';
import { seenFile } from '../process/owner-files.ts';
import { RUN_MARK } from '../process/tree.ts';
import { userHome } from '../process/user-home.ts';
import { openContext, openMachine } from './context.ts';
import type { Context, Machine, OpenOptions } from './context.ts';
import { stopDaemon } from './daemon-end.ts';
import { findDaemon } from './daemon-place.ts';
import { homeAt, homeFrom } from './home.ts';
import { DEFAULT_GRACE_MS } from './launch.ts';
import { ownProgram } from './own-program.ts';
import { requireOwnersKnown } from './ownership/continuity.ts';
import { groundOf } from './ownership/ground.ts';
import type { Ground } from './ownership/ground.ts';
import { tmuxOf } from './pane-keeper.ts';
import { notJudged } from './reach.ts';
import { reconcileAll } from './reconcile.ts';
import { stop } from './stop.ts';

export interface UninstallRequest {
  readonly dryRun?: boolean | undefined;
  /** Also sessions, events and logs. */
  readonly state?: boolean | undefined;
  /** End the runs that live, instead of being refused. */
  readonly stop?: boolean | undefined;
}

export interface Uninstalled {
  readonly dryRun: boolean;
  /** Sessions whose runs were ended. */
  readonly stopped: readonly string[];
  readonly hooks: readonly { readonly harness: HookTarget; readonly path: string }[];
  readonly shims: readonly string[];
  readonly backups: readonly string[];
  readonly daemon: { readonly pid: number } | null;
  readonly tmux: { readonly pid: number } | null;
  /** The state directory; null when it stays. */
  readonly state: string | null;
  /** A store that other hosts may use too; it is never removed. */
  readonly sharedStore: string | null;
  readonly left: readonly { readonly what: string; readonly because: string }[];
  /** Of a dry run: why the same without it would be refused; null when it would not. */
  readonly refusal: string | null;
}

export async function uninstall(request: UninstallRequest, options: OpenOptions = {}): Promise<Uninstalled> {
  const environment = options.environment ?? process.env;
  const run = environment[RUN_MARK] ?? '';
  if (run !== '')
    throw new ReeveError('inside_own_run', `This is inside run ${run}, which Reeve keeps.`, {
      hint: 'Uninstall it from a terminal outside.',
    });
  const isThere = existsSync(
    (options.home === undefined ? homeFrom(environment) : homeAt(options.home)).path,
  );
  let context: Context;
  try {
    context = await openContext(options);
  } catch (error) {
    return withoutStore(request, options, error);
  }
  let ground: Ground;
  let done: Uninstalled;
  try {
    // Whom the store has lost would lose its state directory unseen.
    if (context.isInDoubt === true && request.dryRun !== true) await requireOwnersKnown(context);
    const live = await liveHere(context);
    if (live.length > 0 && request.stop !== true && request.dryRun !== true) throw runsLive(live);
    const found = await look(context, request, live);
    const shared = context.store.engine === 'postgres' ? context.store.place : null;
    // To be opened, a state directory is made; what was not there before is removed without a word.
    const all = { ...found, sharedStore: shared, state: isThere ? found.state : null };
    if (request.dryRun === true) return all;
    done = await carryOut(context, all);
    ground = groundOf(context);
  } finally {
    await context.store.close();
  }
  if (request.state !== true) return done;
  return { ...done, left: [...done.left, ...removeState(context, ground)] };
}

const WITHOUT_STORE = `To take Reeve out of use without its store: reeve hooks remove ${HOOK_TARGETS.join(' ')}; reeve shim remove ${SHIM_NAMES.join(' ')}; reeve serve stop`;

/** Nothing is removed while it is not known who lives; a dry run lists what can be found without. */
async function withoutStore(
  request: UninstallRequest,
  options: OpenOptions,
  error: unknown,
): Promise<Uninstalled> {
  if (!(error instanceof ReeveError) || !error.code.startsWith('store_')) throw error;
  const unknown = `which runs are live is not known: ${sentenceOf(error)}`;
  if (request.dryRun === true)
    return { ...(await look(await openMachine(options), request, [])), refusal: unknown };
  throw new ReeveError(error.code, `Nothing was removed, because ${unknown}.`, {
    hint: `${error.hint === undefined ? '' : `${error.hint} `}${WITHOUT_STORE}`,
    details: error.details,
    cause: error,
  });
}

/** Those of this state directory that are not proven to have ended. */
async function liveHere(context: Context): Promise<readonly string[]> {
  const live = await context.store.live();
  const seen = await reconcileAll(context, live);
  return live.flatMap(({ session, run }, index) =>
    seen[index]?.run.state === 'ended' || notJudged(context, run) !== null ? [] : [session.name],
  );
}

function runsLive(names: readonly string[]): ReeveError {
  return new ReeveError('live_owner', `Nothing was removed, because runs are live: ${names.join(', ')}.`, {
    hint: 'End them first (reeve stop SESSION), or have it done: add --stop',
    details: { sessions: names },
  });
}

async function look(
  context: Machine,
  { dryRun = false, state = false, stop: isToStop = false }: UninstallRequest,
  live: readonly string[],
): Promise<Uninstalled> {
  const { environment, home } = context;
  const place = { home: userHome(environment), environment };
  const left: Uninstalled['left'][number][] = [];
  const settings = HOOK_TARGETS.map((harness) => {
    try {
      return { harness, ...removableHooks(harness, place) };
    } catch (error) {
      left.push({ what: `hooks of ${harness}`, because: sentenceOf(error) });
      return { harness, files: [], backups: [] };
    }
  });
  const directories = shimDirectories(join(home.path, 'shims'), ownProgram(), environment['PATH'] ?? '');
  const daemon = findDaemon(context);
  return {
    dryRun,
    stopped: live,
    hooks: settings.flatMap(({ harness, files }) => files.map((path) => ({ harness, path }))),
    shims: directories.flatMap((each) => SHIM_NAMES.map((name) => join(each, name)).filter(isShim)),
    backups: settings.flatMap(({ backups }) => backups),
    daemon: daemon.is === 'none' ? null : { pid: daemon.record.process.pid },
    tmux: await tmuxServer(context),
    state: state ? home.path : null,
    sharedStore: null,
    left,
    refusal: dryRun && live.length > 0 && !isToStop ? `runs are live: ${live.join(', ')}` : null,
  };
}

/** Null where none answers: then no pane of ours is there, or none that could be ended so. */
async function tmuxServer(context: Machine): Promise<{ readonly pid: number } | null> {
  if (!existsSync(join(context.home.path, 'tmux', 'socket'))) return null;
  try {
    const answer = await tmuxOf(context).server();
    return answer.is === 'answered' ? answer.value : null;
  } catch {
    return null;
  }
}

/** What would act on its own first, the state last. */
async function carryOut(context: Context, found: Uninstalled): Promise<Uninstalled> {
  for (const name of found.stopped) await stop(context, name, DEFAULT_GRACE_MS);
  const left = [...found.left];
  const attempt = (what: string, action: () => void) => {
    try {
      action();
    } catch (error) {
      left.push({ what, because: sentenceOf(error) });
    }
  };
  if (found.daemon !== null) await stopDaemon(context);
  const place = { home: userHome(context.environment), environment: context.environment };
  for (const harness of new Set(found.hooks.map((each) => each.harness)))
    attempt(`hooks of ${harness}`, () => void removeHooks(harness, place));
  for (const directory of new Set(found.shims.map(dirname)))
    attempt(`shims in ${directory}`, () => void removeShims(directory, SHIM_NAMES));
  // After the hooks: that there is one says that the file was there before them.
  for (const path of found.backups) attempt(path, () => rmSync(path));
  // The last run took it along, mostly.
  if ((await tmuxServer(context)) !== null) {
    const ended = await tmuxOf(context).endServer();
    if (ended.is === 'unknown') left.push({ what: 'the tmux server', because: ended.because });
  }
  return { ...found, left };
}

/** All that Reeve ever puts into a state directory. Somebody may have chosen one that is not Reeve's alone. */
const OWN_ENTRY =
  /^(?:reeve\.db.*|installation\.json.*|config-checked.*|runs|daemon|tmux|shims|late-hooks|used-by-others)$/;

function removeState({ home }: Pick<Context, 'home'>, ground: Ground): Uninstalled['left'] {
  for (const name of readdirSync(home.path).filter((each) => OWN_ENTRY.test(each)))
    rmSync(join(home.path, name), { recursive: true, force: true });
  rmSync(seenFile(ground.owners, ground), { force: true });
  // Other state directories keep their owners in the same place.
  removeIfEmpty(ground.owners);
  if (removeIfEmpty(ground.home)) {
    // What leads there, where it was a link.
    rmSync(home.path, { force: true });
    return [];
  }
  return [{ what: home.path, because: 'it has files that are not Reeve’s' }];
}

function removeIfEmpty(directory: string): boolean {
  if (readdirSync(directory).length > 0) return false;
  rmdirSync(directory);
  return true;
}

function sentenceOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
