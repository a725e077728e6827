/**
 * Types a message into a session in tmux, once, and counts it as delivered only when the harness shows that it took it.
 * While it works, or waits for an answer, nothing is typed: the text would go somewhere else.
 */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReeveError } from '../api/errors.ts';
import { adapterNamed } from '../harness/adapters.ts';
import { promptDigest } from '../harness/prompt.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { LiveRun } from '../lifecycle/run.ts';
import { probe } from '../process/liveness.ts';
import { isThere } from '../process/reading.ts';
import { identify } from '../process/process-table.ts';
import { lookAt } from './activity.ts';
import type { Context } from './context.ts';
import { runDirectory } from './liveness.ts';
import { answered, glanceAt, paneOf } from './pane.ts';
import { tmuxOf } from './pane-keeper.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';

export interface SendRequest {
  readonly text: string;
  /** Wait until it is idle, instead of being refused while it is not. */
  readonly queue?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Sent {
  readonly session: string;
  readonly run: string;
  readonly characters: number;
}

/** More is a file: a harness's input box is no place for it. */
const MAX_CHARACTERS = 100_000;
const POLL_MS = 100;
/** Beyond this its screen is one that is not known here, and what it reported decides alone. */
const READY_LIMIT_MS = 5_000;
/** A harness takes what came together with the text for a part of it, so Enter follows after a pause. */
const BEFORE_ENTER_MS = 400;
/** How long a harness may take from Enter to its report; a busy machine starts hooks slowly. */
const TAKEN_LIMIT_MS = 20_000;
/** From the creation of a lock to its content, a process takes microseconds. */
const LOCK_STALE_MS = 10_000;

export async function send(context: Context, reference: string, request: SendRequest): Promise<Sent> {
  const text = checkedText(request.text);
  const { sessionName, harness, run } = await paneOf(context, reference);
  if (harness === 'command') {
    throw new ReeveError(
      'usage',
      `${sessionName} runs a plain command, of which nobody could tell whether it took a message.`,
      {
        hint: `Type it yourself: reeve attach ${sessionName}`,
      },
    );
  }
  const attempt = () =>
    withLock(context, runDirectory(context, run.id), sessionName, async () => {
      await requireIdle(context, sessionName);
      await untilReady(context, harness, run);
      return deliver(context, sessionName, run, text);
    });
  return request.queue === true ? untilFree(attempt, sessionName, request.signal) : attempt();
}

/** `busy` is only said as long as nothing was typed, so it can be tried again and again. */
async function untilFree(
  attempt: () => Promise<Sent>,
  sessionName: string,
  signal: AbortSignal | undefined,
): Promise<Sent> {
  for (;;) {
    if (signal?.aborted === true) throw new ReeveError('busy', `Nothing was sent to ${sessionName}.`);
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ReeveError && error.code === 'busy')) throw error;
    }
    await sleep(POLL_MS);
  }
}

function checkedText(text: string): string {
  const whole = text.replaceAll('\r\n', '\n').replace(/\n+$/, '');
  if (whole.trim() === '') throw new ReeveError('usage', 'There is nothing to send: the text is empty.');
  if (whole.length > MAX_CHARACTERS) {
    throw new ReeveError(
      'usage',
      `The text has ${whole.length} characters, and ${MAX_CHARACTERS} are the most that is typed into a harness.`,
      { hint: 'Put it into a file, and send the name of the file.' },
    );
  }
  const control = /[\p{Cc}]/gu;
  for (const { 0: character, index } of whole.matchAll(control)) {
    if (character === '\n' || character === '\t') continue;
    const code = character.charCodeAt(0).toString(16).padStart(2, '0');
    throw new ReeveError(
      'usage',
      `The text has a control character (0x${code}, at ${index}), which would act as a key.`,
      {
        hint: 'Take it out; line breaks and tabs are fine.',
      },
    );
  }
  return whole;
}

async function requireIdle(context: Context, sessionName: string): Promise<void> {
  const { is, waitingFor } = await activityOf(context, sessionName);
  if (is === 'idle') return;
  if (is === 'ended') throw new ReeveError('not_found', `${sessionName} has ended; nothing was sent.`);
  const doing = {
    working: 'is working',
    'needs-input': `waits for ${waitingFor ?? 'an answer'}`,
    unknown: 'may be working (what it does is not known)',
  }[is];
  throw new ReeveError('busy', `${sessionName} ${doing}; nothing was sent.`, {
    hint: `Wait for it: add --queue    Look or answer: reeve attach ${sessionName}`,
    details: { status: is },
  });
}

/** A harness that has only just begun is idle before its input box is there. */
async function untilReady(context: Context, harness: string, run: LiveRun): Promise<void> {
  const adapter = await adapterNamed(harness);
  const deadline = performance.now() + READY_LIMIT_MS;
  while (performance.now() < deadline) {
    const glance = await glanceAt(context, run);
    if (glance !== null && adapter.readPane(glance.title, glance.screen)?.is === 'idle') return;
    await sleep(POLL_MS);
  }
}

async function activityOf(context: Context, sessionName: string) {
  const found = await resolveCurrent(context, sessionName);
  const seen = await reconcileRun(context, found.run);
  if (seen.run.state === 'ended') return { is: 'ended', waitingFor: null } as const;
  if (seen.command === 'gone') return { is: 'unknown', waitingFor: null } as const;
  const { activity } = await lookAt(context, found.session, seen);
  return { is: activity?.is ?? 'working', waitingFor: activity?.waitingFor ?? null };
}

async function deliver(context: Context, sessionName: string, run: LiveRun, text: string): Promise<Sent> {
  const tmux = tmuxOf(context);
  const before = await lastEvent(context, run);
  answered(await tmux.paste(run.id, typed(text)), sessionName);
  await sleep(BEFORE_ENTER_MS);
  answered(await tmux.press(run.id, 'Enter'), sessionName);
  const isTaken = await wasTaken(context, sessionName, run, { digest: promptDigest(text), after: before });
  const characters = text.length;
  await context.store.note(
    {
      sessionId: run.sessionId,
      runId: run.id,
      kind: isTaken ? 'message.delivered' : 'message.undelivered',
      actor: context.actor,
      data: { characters },
    },
    'always',
  );
  if (isTaken) return { session: sessionName, run: run.id, characters };
  throw new ReeveError(
    'undelivered',
    `The text was typed into ${sessionName}, but that the harness took it was not seen.`,
    {
      hint: `Look before you send it again: reeve attach ${sessionName}`,
    },
  );
}

/** Behind a word with an @, Enter would choose one of the files that the harness offers: a blank closes the offer. */
function typed(text: string): string {
  return /@\S*$/.test(text) ? `${text} ` : text;
}

async function lastEvent(context: Context, run: LiveRun): Promise<number> {
  return (await context.store.eventsOf(run.sessionId)).at(-1)?.seq ?? 0;
}

/** The harness reports a turn that begins with this very text; one that reports nothing at least goes to work. */
async function wasTaken(
  context: Context,
  sessionName: string,
  run: LiveRun,
  message: { digest: string; after: number },
): Promise<boolean> {
  const deadline = performance.now() + TAKEN_LIMIT_MS;
  while (performance.now() < deadline) {
    const { is } = await activityOf(context, sessionName);
    const events = (await context.store.eventsOf(run.sessionId)).filter(({ seq }) => seq > message.after);
    const turns = events.filter(({ kind }) => kind === 'harness.turn.started');
    if (turns.some(({ data }) => data['promptDigest'] === message.digest)) return true;
    if (turns.some(({ data }) => data['promptDigest'] === null) && is === 'working') return true;
    if (is === 'ended') return false;
    await sleep(POLL_MS);
  }
  return false;
}

/**
 * Two that type at the same time would make one text of theirs. A lock is a file with its holder's identity, and the
 * next number is free once the holders of all others are dead: nobody ever removes what another might hold.
 */
async function withLock<T>(
  context: Context,
  directory: string,
  sessionName: string,
  work: () => Promise<T>,
): Promise<T> {
  const numbers = readdirSync(directory).flatMap((name) => /^send-lock\.(\d+)$/.exec(name)?.slice(1) ?? []);
  const path = (number: number | string) => join(directory, `send-lock.${number}`);
  const own = path(Math.max(0, ...numbers.map(Number)) + 1);
  if (numbers.some((number) => isHeld(context, path(number))) || !createLock(context, own)) {
    throw new ReeveError('busy', `Somebody else is sending to ${sessionName} right now; nothing was sent.`, {
      hint: 'Try again in a moment, or add --queue.',
    });
  }
  try {
    return await work();
  } finally {
    rmSync(own, { force: true });
  }
}

function createLock(context: Context, path: string): boolean {
  try {
    const holder = JSON.stringify(identify(context.table, process.pid));
    writeFileSync(path, holder, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isHeld(context: Context, path: string): boolean {
  const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (modified === undefined) return false;
  try {
    // As it was written above.
    return probe(context.table, JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity).is !== 'dead';
  } catch (error) {
    // It is there, and who holds it may live.
    if (!(error instanceof SyntaxError) && isThere(path)) return true;
    // Removed meanwhile, or its holder has not come to write it; one that died at that very point never will.
    return Date.now() - modified < LOCK_STALE_MS;
  }
}
