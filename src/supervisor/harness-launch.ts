/** What a start needs to know of the harness that it starts: which conversation, and how it will report. */
import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ReeveError } from '../api/errors.ts';
import type { Adapter, HarnessName, Invocation, Place } from '../harness/adapter.ts';
import { adapterNamed, harnessOf } from '../harness/adapters.ts';
import { findCommand } from '../harness/launcher.ts';
import { hasStrayBytes, isReplaced } from '../api/raw-bytes.ts';
import { recordPlace } from '../process/run-place.ts';
import type { Context } from './context.ts';
import { createSpool } from './create-spool.ts';

export interface HarnessLaunch {
  readonly adapter: Adapter;
  /** The caller's command line; a conversation that it only called the latest is named in it. */
  readonly argv: readonly string[];
  /** The conversation that the run will serve; null when the harness will say. */
  readonly nativeId: string | null;
  /** Whether that conversation may exist, and so may be served by somebody else. */
  readonly mayExist: boolean;
  /** The program that is executed, with its arguments. */
  readonly execution: readonly string[];
}

interface Wanted {
  readonly argv: readonly string[];
  readonly harness: HarnessName | undefined;
  readonly cwd: string;
}

/** Whether there is no conversation in it to own: then it is run as it is, see pass-by.ts. */
export async function isAdministration(argv: readonly string[]): Promise<boolean> {
  const harness = harnessOf(argv);
  if (harness === 'command') return false;
  // A start knows how to hand on bytes that are not UTF-8; Node does not.
  if (argv.some(hasStrayBytes) || isReplaced(process.env)) return false;
  return (await adapterNamed(harness)).readInvocation(argv).isAdministration === true;
}

export async function readHarness(context: Context, wanted: Wanted): Promise<HarnessLaunch> {
  const adapter = await adapterNamed(wanted.harness ?? harnessOf(wanted.argv));
  if (adapter.name === 'command') {
    return { adapter, argv: wanted.argv, nativeId: null, mayExist: false, execution: wanted.argv };
  }
  const { at, environment } = findCommand(wanted.argv, context.environment);
  const place = { environment, cwd: wanted.cwd };
  const program = await installed(adapter, wanted.argv[at] ?? '', place);
  const { argv, asked } = identified(adapter, wanted.argv, place);
  const executed = (line: readonly string[]) => line.with(at, adapter.nativeProgram(program));
  if (asked.is === 'resume' || (asked.is === 'new' && asked.nativeId !== null)) {
    return { adapter, argv, nativeId: asked.nativeId, mayExist: true, execution: executed(argv) };
  }
  const chosen = asked.is === 'new' ? randomUUID() : null;
  const pinned = chosen === null ? null : adapter.withNewId(argv, chosen);
  if (pinned === null) return { adapter, argv, nativeId: null, mayExist: false, execution: executed(argv) };
  return { adapter, argv, nativeId: chosen, mayExist: false, execution: executed(pinned) };
}

/** Which conversation it calls by another name than its id, where that can be known beforehand. The latest is then named in it. */
function identified(
  adapter: Adapter,
  argv: readonly string[],
  place: Place,
): { readonly argv: readonly string[]; readonly asked: Invocation['asked'] } {
  const { asked, isInteractive } = adapter.readInvocation(argv);
  if (asked.is !== 'latest' && asked.is !== 'named') return { argv, asked };
  if (asked.is === 'named') {
    const nativeId = called(adapter, placesOf(place), { reference: asked.reference, isInteractive });
    return { argv, asked: nativeId === null ? { is: 'open' } : { is: 'resume', nativeId } };
  }
  const latest = placesOf(place, asked.directory).map((each) => adapter.latestConversation(each));
  const nativeId = latest.find((each) => each !== null)?.nativeId;
  if (nativeId === undefined) return { argv, asked };
  return { argv: adapter.withLatest(argv, nativeId), asked: { is: 'resume', nativeId } };
}

/** A harness goes by the path that the kernel tells it, or by the one that the shell told it. */
function placesOf({ environment, cwd }: Place, directory = '.'): readonly Place[] {
  const path = resolve(cwd, directory);
  return [...new Set([realpathOf(path), path])].map((each) => ({ environment, cwd: each }));
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // The harness says that it is not there.
  }
}

/** Null where the harness asks a person which one it is to be. Else it could be one that has an owner. */
function called(
  adapter: Adapter,
  places: readonly Place[],
  { reference, isInteractive }: { readonly reference: string; readonly isInteractive: boolean },
): string | null {
  const name = JSON.stringify(reference);
  if (adapter.conversationsCalled === undefined) {
    throw new ReeveError('usage', `Which conversation ${name} is, only ${adapter.name} knows.`, {
      hint: 'Nothing was started, for it may have an owner. Give the id of the conversation instead.',
    });
  }
  const ids = [...new Set(places.flatMap((each) => adapter.conversationsCalled?.(each, reference) ?? []))];
  if (ids.length > 1) {
    throw new ReeveError('ambiguous', `${adapter.name} has several conversations called ${name}.`, {
      hint: `Give the id of one: ${ids.join(', ')}`,
      details: { candidates: ids },
    });
  }
  const [nativeId] = ids;
  if (nativeId !== undefined) return nativeId;
  if (isInteractive) return null;
  throw new ReeveError('not_found', `${adapter.name} has no conversation called ${name} here.`, {
    hint: 'Nothing was started. Give the id of the conversation.',
  });
}

async function installed(adapter: Adapter, name: string, { environment, cwd }: Place): Promise<string> {
  const { findProgram } = await import('../harness/native-program.ts');
  // Where a directory cannot be looked into, one behind it would be found instead.
  if (hasStrayBytes(environment['PATH'] ?? '') && !name.includes('/')) {
    throw new ReeveError('usage', `PATH is not UTF-8, so ${name} cannot be looked for.`, {
      hint: 'Nothing was started. Give the path of the program.',
    });
  }
  const program = findProgram(name, environment['PATH'] ?? '', cwd);
  if (program !== null) return program;
  throw new ReeveError('harness_missing', `${name} is not installed: no program of that name was found.`, {
    hint: `Install it (${adapter.install}), or give the path of the program.`,
    details: { harness: adapter.name, program: name },
  });
}

export interface Execution {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Prepares the channel by which the harness reports, and adds what it needs to use it. */
export function prepareExecution(
  context: Context,
  launch: HarnessLaunch,
  run: { readonly id: string; readonly cwd: string },
  runDirectory: string,
): Execution {
  const plain = { argv: launch.execution, environment: {} };
  const hookProgram = hookProgramPath();
  const isSession = launch.adapter.readInvocation(launch.argv).asked.is !== 'none';
  const reporting =
    hookProgram === null || !isSession
      ? null
      : launch.adapter.reporting({
          argv: launch.execution,
          hookProgram,
          runDirectory,
          place: { environment: context.environment, cwd: run.cwd },
        });
  createSpool(context, run.id, reporting?.hasHooks === true);
  recordPlace(runDirectory, findCommand(launch.argv, context.environment).environment);
  if (reporting === null) return plain;
  for (const [name, text] of Object.entries(reporting.files)) {
    writeFileSync(join(runDirectory, name), text, { mode: 0o600 });
  }
  return { argv: reporting.argv, environment: reporting.environment };
}

/** Beside this file in the package; among the sources when run from those. */
export function hookProgramPath(): string | null {
  const candidates = ['hook.sh', '../hook/hook.sh'].map((path) => join(import.meta.dirname, path));
  return candidates.find((path) => existsSync(path)) ?? null;
}
