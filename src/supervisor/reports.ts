/**
 * Takes in what harnesses have reported: messages that hook.sh and the plugins left in a run's `hooks/`, and after a
 * run's end in the state directory's `late-hooks/`. Whoever looks next takes them; each is forgotten once it is in the
 * store, and taken once even if two look at the same time.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Adapter, Reported } from '../harness/adapter.ts';
import type { HarnessFact } from '../lifecycle/harness-fact.ts';
import type { Run } from '../lifecycle/run.ts';
import { checkpoint } from '../process/checkpoint.ts';
import { isThere, readNames, unread } from '../process/reading.ts';
import { isWriteRefused } from '../store/write-refused.ts';
import { adapterOf } from './adapter-of.ts';
import type { Context } from './context.ts';
import { LAUNCHED_WITH_HOOKS } from './create-spool.ts';
import { holdNamed } from './ownership/hold.ts';
import { recordedHarness } from './liveness.ts';
import { lateSpoolIn, spoolIn } from './spool.ts';
import { takeLateWrites, takeWrites } from './take-writes.ts';

/** A payload that holds more carries the output of a tool; what matters stands at its beginning. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** A look must end, however much was reported while nobody looked; the next one goes on. */
const MAX_MESSAGES_A_LOOK = 500;
/** They are in memory together, so of large ones fewer are taken at a time. */
const MAX_BYTES_A_LOOK = 32 * MAX_PAYLOAD_BYTES;
/** A harness waits seconds for its hook: one that has not written all of its message by now never will. */
const HALF_WRITTEN_LIMIT_MS = 60_000;
const END_OF_MESSAGE = '\nwhole\n';

interface Message {
  readonly path: string;
  readonly source: string;
  readonly origin: 'launch' | 'installed';
  readonly runId: string;
  /** The processes above the hook, nearest first. */
  readonly above: readonly number[];
  readonly payload: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  readonly order: bigint;
}

/**
 * The run as it is after all that was reported of it, and all that it left to be written. When it was read is since this
 * program began, unless it is given. Throws when a report is there and cannot be read.
 */
export async function takeReports(
  context: Context,
  run: Run,
  readAtMs = performance.timeOrigin,
): Promise<Run> {
  await takeWrites(context, run);
  const spool = spoolIn(context.home, run.id);
  const messages = messagesIn(spool);
  if (messages.length === 0) {
    // Another reader may have taken them all since this one read the run.
    return wasChangedSince(spool, readAtMs) ? ((await context.store.run(run.id)) ?? run) : run;
  }
  await checkpoint('reports.listed');
  const adapter = await adapterOf(context, run);
  const repeats = isThere(join(spool, LAUNCHED_WITH_HOOKS));
  let latest = run;
  for (const message of messages) {
    latest = await takeMessage(context, adapter, latest, message, repeats);
  }
  return latest;
}

/** What came after the end of its run is fenced, and told in the story of its session; by somebody who may write. */
export async function takeLateReports(context: Context): Promise<void> {
  try {
    await takeAllLate(context);
  } catch (error) {
    if (!isWriteRefused(error)) throw error;
  }
}

async function takeAllLate(context: Context): Promise<void> {
  await takeLateWrites(context);
  for (const message of lateMessages(lateSpoolIn(context.home))) {
    const run = await context.store.run(message.runId);
    if (run === null) rmSync(message.path, { force: true });
    else await takeMessage(context, await adapterOf(context, run), run, message, false);
  }
}

/** They change nothing but the story, so what cannot be read now is left for another time. */
function lateMessages(spool: string): readonly Message[] {
  try {
    return messagesIn(spool);
  } catch {
    return [];
  }
}

async function takeMessage(
  context: Context,
  adapter: Adapter,
  run: Run,
  message: Message,
  repeats: boolean,
): Promise<Run> {
  // Another reader was faster, and may have taken later ones too: what it says may no longer be so.
  if (!isThere(message.path)) return (await context.store.run(run.id)) ?? run;
  // Any name may stand there, also one that means something else altogether to whoever looks it up.
  const reported = isKnown(message) ? adapter.readReport(message.payload) : null;
  let latest = run;
  if (reported !== null && !isRepetition(run, message, reported, repeats)) {
    const result = await context.store.observe(
      run.id,
      factOf(context, run, message, reported),
      message.source,
    );
    if (result.is === 'accepted') {
      latest = result.run;
      holdNamed(context, adapter.name, run, latest);
    }
    if (result.is === 'seen') latest = (await context.store.run(run.id)) ?? run;
    await checkpoint('reports.taken');
  }
  rmSync(message.path, { force: true });
  return latest;
}

function isRepetition(run: Run, message: Message, reported: Reported, repeats: boolean): boolean {
  return repeats && message.origin === 'installed' && reported.nativeId === run.native?.id;
}

function factOf(context: Context, run: Run, message: Message, { fact, nativeId }: Reported): HarnessFact {
  // Its launcher may not have come to put it into the store, or have died before.
  const harness = run.harness ?? recordedHarness(context, run.id);
  const event = message.payload['hook_event_name'];
  return {
    ...fact,
    nativeId,
    atMs: message.atMs,
    evidence: `its ${String(event)} hook`,
    // The shell of a hook is started by its harness and by nobody else: by this run's own, or by one further down.
    isFromHarness: harness !== null && message.above[0] === harness.pid,
  };
}

/** The times of files are those of the last tick of the kernel's clock. */
const TICK_MS = 20;

function wasChangedSince(spool: string, sinceMs: number): boolean {
  try {
    const changedAtMs = lstatSync(spool, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return changedAtMs >= sinceMs - TICK_MS;
  } catch {
    return false; // Another user's.
  }
}

/** In the order in which they were written; of those within one tick of the file system's clock, as they were begun. */
function messagesIn(spool: string): readonly Message[] {
  const messages: Message[] = [];
  let bytes = 0;
  for (const file of filesIn(spool).slice(0, MAX_MESSAGES_A_LOOK)) {
    bytes += Math.min(Number(file.size), MAX_PAYLOAD_BYTES);
    if (bytes > MAX_BYTES_A_LOOK) break;
    messages.push(...readMessage(file.path, file.name));
  }
  return messages.toSorted((a, b) => Number(a.order - b.order) || compareNames(a.path, b.path));
}

/** A name has the pid of the hook, which grows from one to the next, and a number behind it. */
function compareNames(a: string, b: string): number {
  const numbers = (path: string) => basename(path).split(/\D+/).map(Number);
  const [[pidA = 0, countA = 0], [pidB = 0, countB = 0]] = [numbers(a), numbers(b)];
  return pidA - pidB || countA - countB;
}

interface SpooledFile {
  readonly path: string;
  readonly name: string;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/** The oldest first: what a look leaves to the next one must be what came later. */
function filesIn(spool: string): readonly SpooledFile[] {
  const reading = readNames(spool);
  if (reading.is === 'failed') throw unread(reading);
  return (reading.is === 'read' ? reading.value : [])
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) => {
      const path = join(spool, name);
      const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      // Nothing else is a message; and to open a pipe may take for ever.
      return status?.isFile() === true ? [{ path, name, size: status.size, mtimeNs: status.mtimeNs }] : [];
    })
    .toSorted((a, b) => Number(a.mtimeNs - b.mtimeNs));
}

/** The events that mean anything, of all harnesses. */
const EVENTS = new Set([
  'SessionStart',
  'UserPromptSubmit',
  'BeforeAgent',
  'PermissionRequest',
  'Notification',
  'PostToolUse',
  'AfterTool',
  'Stop',
  'AfterAgent',
  'SessionEnd',
]);

function isKnown({ payload }: Message): boolean {
  return EVENTS.has(String(payload['hook_event_name']));
}

/** None while it is still being written. */
function readMessage(path: string, name: string): Message[] {
  const file = openIfThere(path);
  if (file === null) return [];
  try {
    const status = fstatSync(file, { bigint: true });
    if (!status.isFile()) return [];
    const { size, mtimeNs } = status;
    const atMs = Number(mtimeNs / 1_000_000n);
    const end = Buffer.alloc(END_OF_MESSAGE.length);
    readSync(file, end, 0, end.length, Math.max(0, Number(size) - end.length));
    if (end.toString('latin1') !== END_OF_MESSAGE) {
      if (Date.now() - atMs > HALF_WRITTEN_LIMIT_MS) rmSync(path, { force: true });
      return [];
    }
    const buffer = Buffer.alloc(Math.min(Number(size), MAX_PAYLOAD_BYTES));
    const text = buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, 0));
    const at = text.indexOf('\n');
    const [origin = '', runId = '', ...above] = text.slice(0, at).split(' ');
    return [
      {
        path,
        source: `${name}@${mtimeNs}`,
        origin: origin === 'installed' ? 'installed' : 'launch',
        runId,
        above: above.map(Number),
        payload: parsePayload(text.slice(at + 1, text.length - END_OF_MESSAGE.length)),
        atMs,
        order: mtimeNs,
      },
    ];
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    // Taken by another reader meanwhile, or a link was put in its place, which is no message.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ELOOP'))
      return null;
    throw error;
  }
}

/** Of a payload that was cut, the fields at its beginning. */
function parsePayload(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    const fields = text
      .slice(0, 4096)
      .matchAll(/"(session_id|hook_event_name|tool_name|reason)"\s*:\s*"([^"\\]*)"/g);
    // The first of a name is the payload's own; what a tool was given may have fields of the same name.
    return Object.fromEntries([...fields].toReversed().map(([, name = '', value = '']) => [name, value]));
  }
}
