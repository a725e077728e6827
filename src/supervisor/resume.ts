/** The next epoch of a known session, or the first one of a conversation that only its harness knows so far. */
import { ReeveError } from '../api/errors.ts';
import type { Adapter, Conversation, HarnessName } from '../harness/adapter.ts';
import { adapterNamed, allAdapters, harnessOf } from '../harness/adapters.ts';
import type { Run } from '../lifecycle/run.ts';
import type { Session } from '../lifecycle/session.ts';
import type { Context } from './context.ts';
import { launch } from './launch.ts';
import type { LaunchRequest, LaunchResult } from './launch.ts';
import { resolveSession } from './resolve.ts';
import { hearAll } from './unsaid.ts';

/** Without a command or a directory, those of the session's latest run. */
export type ResumeRequest = Omit<LaunchRequest, 'session' | 'argv'> & {
  readonly argv?: readonly string[] | undefined;
  /** What to tell the harness. */
  readonly prompt?: string | undefined;
};

export async function resume(
  context: Context,
  reference: string,
  request: ResumeRequest,
): Promise<LaunchResult> {
  await hearAll(context);
  const known = await context.store.find(reference);
  if (known.matches.length === 0) {
    const conversation = await conversationNamed(context, reference, request.harness);
    if (conversation !== null) return resumeConversation(context, conversation, request);
  }
  const { session, run } = await resolveSession(context, reference);
  return launch(context, {
    ...request,
    session: session.name,
    argv: await commandFor(session, run, request),
    harness: request.harness ?? harnessNamed(session.harness, request.argv),
    cwd: request.cwd ?? session.cwd,
  });
}

/** A command that was given is for the program it names; without one the session's own goes on. */
function harnessNamed(name: string, given: readonly string[] | undefined): HarnessName {
  // Written by a claim, so one of the names, or that of a newer Reeve, which is treated as a command.
  return given === undefined ? (name as HarnessName) : harnessOf(given);
}

async function commandFor(
  session: Session,
  run: Run,
  { argv, prompt }: ResumeRequest,
): Promise<readonly string[]> {
  const adapter = await adapterNamed(session.harness);
  const { nativeId } = session;
  const canResume = adapter.name !== 'command' && nativeId !== null;
  const hasBegun = run.ending?.outcome !== 'never_started';
  if (adapter.name !== 'command' && nativeId === null && argv === undefined && hasBegun) {
    // The same command line again would do the same task again, in a conversation of its own.
    throw new ReeveError(
      'unproven',
      `Which conversation ${session.name} served is not known, so it cannot be gone on with.`,
      {
        hint: `Give its id to \`reeve resume\`, or begin anew: reeve run --session ${session.name} -- ${adapter.name}`,
      },
    );
  }
  if (prompt !== undefined && (!canResume || argv !== undefined)) {
    throw new ReeveError('usage', `A prompt cannot be given to ${session.name} in this way.`, {
      hint: 'Prompts are for sessions of a known harness; for others give the whole command behind --.',
    });
  }
  if (!canResume) return argv ?? session.argv;
  if (argv === undefined) return adapter.resumeArgv(session.argv, nativeId, prompt ?? null);
  return harnessOf(argv) === adapter.name ? namingConversation(adapter, argv, nativeId) : argv;
}

interface Found extends Conversation {
  readonly harness: HarnessName;
}

/** The shortest beginning of an id by which anybody would name a conversation. */
const MIN_REFERENCE_LENGTH = 6;

async function conversationNamed(
  context: Context,
  reference: string,
  harness: HarnessName | undefined,
): Promise<Found | null> {
  if (reference.length < MIN_REFERENCE_LENGTH || !/^[\w-]+$/.test(reference)) return null;
  const adapters = (await allAdapters()).filter(({ name }) => harness === undefined || harness === name);
  const place = { environment: context.environment, cwd: process.cwd() };
  const found = adapters.flatMap((adapter) =>
    adapter.findConversations(place, reference).map((each) => ({ ...each, harness: adapter.name })),
  );
  const exact = found.filter(({ nativeId }) => nativeId === reference);
  const matches = exact.length > 0 ? exact : found;
  const distinct = new Map(matches.map((each) => [`${each.harness} ${each.nativeId}`, each]));
  if (distinct.size <= 1) return matches[0] ?? null;
  const isOne = new Set(matches.map(({ nativeId }) => nativeId)).size === 1;
  const names = [...distinct.values()].map((each) => each.harness);
  throw new ReeveError(
    'ambiguous',
    isOne
      ? `${names.join(' and ')} have this conversation.`
      : `${reference} fits several conversations: ${[...distinct.keys()].join(', ')}.`,
    {
      hint: isOne
        ? `Add ${names.map((name) => `--harness ${name}`).join(' or ')}.`
        : 'Give more of the id, or say which with --harness.',
      details: {
        candidates: [...distinct.values()].map(({ harness: name, nativeId, cwd }) => ({
          harness: name,
          nativeId,
          cwd,
        })),
      },
    },
  );
}

async function resumeConversation(
  context: Context,
  { harness, nativeId, cwd }: Found,
  request: ResumeRequest,
): Promise<LaunchResult> {
  const adapter = await adapterNamed(harness);
  const argv =
    request.argv === undefined
      ? resumeCommand(adapter, nativeId, request.prompt)
      : namingConversation(adapter, request.argv, nativeId);
  return launch(context, { ...request, argv, harness, cwd: request.cwd ?? cwd ?? undefined });
}

/** A command that was given, for the conversation that is to go on; one that asks for another contradicts that. */
function namingConversation(adapter: Adapter, argv: readonly string[], nativeId: string): readonly string[] {
  const { asked } = adapter.readInvocation(argv);
  if (asked.is === 'new') return adapter.withResume(argv, nativeId);
  if (asked.is !== 'resume' || asked.nativeId === nativeId) return argv;
  throw new ReeveError('usage', `The command asks for conversation ${asked.nativeId}, not for ${nativeId}.`, {
    hint: 'Leave the id out of the command, or resume that one.',
  });
}

/** Nothing is known of how it was started: with a prompt it does that and ends, without one it is there to talk to. */
function resumeCommand(adapter: Adapter, nativeId: string, prompt: string | undefined): readonly string[] {
  return adapter.resumeArgv(
    prompt === undefined ? [adapter.name] : adapter.headless,
    nativeId,
    prompt ?? null,
  );
}
