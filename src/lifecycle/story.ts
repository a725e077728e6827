/** `why`: the events of a session, told as sentences. Only what is on record is said. */
import { amount } from './budget-words.ts';
import type { OnParentEnd, Parentage } from './child.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { INTENDED_OUTCOMES } from './run.ts';
import type { Ending, Intent } from './run.ts';
import { BUDGET_KINDS } from './session-budget.ts';
import type { Limits } from './session-budget.ts';

export interface StoryEvent {
  readonly atMs: number;
  readonly runId: string | null;
  readonly kind: string;
  readonly actor: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Sentence {
  readonly atMs: number;
  readonly runId: string | null;
  readonly text: string;
}

/** `currency`: what prices are in, where that is known. */
export function tellStory(events: readonly StoryEvent[], currency?: string): readonly Sentence[] {
  return events.map((event) => ({
    atMs: happenedAtMs(event),
    runId: event.runId,
    text: sentenceOf(event, currency),
  }));
}

/** What a harness reported happened before somebody came to read it. */
function happenedAtMs({ kind, atMs, data }: StoryEvent): number {
  const { atMs: reportedAtMs } = data;
  return kind.startsWith('harness.') && typeof reportedAtMs === 'number' ? reportedAtMs : atMs;
}

// The data of each kind is written by the code that writes the event; the casts name its type.
function sentenceOf({ kind, actor, runId, data }: StoryEvent, currency: string | undefined): string {
  const say = (field: string) => String(data[field]);
  switch (kind) {
    case 'run.claimed':
      return `${actor} claimed the session for run ${say('epoch')} (${runId}): ${commandOf(data['argv'])}, in ${say('cwd')}, ${say('mode')}.${parentage(data['parent'])}`;
    case 'run.started':
      return `Its keeper is pid ${(data['keeper'] as ProcessIdentity).pid}, holding the tree by ${containmentOf(data)}.`;
    case 'run.announced':
      return `${data['isSeen'] === false ? 'It may be alive where nobody from here can see, and was' : 'It was found alive and'} put on record again as run ${say('epoch')}: ${say('because')}.${data['instead'] === null ? '' : ` Session ${say('instead')}, which it owned, has another owner by now.`}`;
    case 'run.executing':
      return `The command is executing as pid ${(data['harness'] as ProcessIdentity).pid}.`;
    case 'run.intended':
      return intended(actor, data as unknown as Intent);
    case 'run.withdrawn':
      return withdrawn(actor, data);
    case 'run.ended':
      return ended(runId, data as unknown as Ending);
    case 'run.survivors':
      return `${survivors(data['survivors'], data['because'])}. It stays the owner.`;
    case 'run.doubted':
      return `Nothing was done about it, although it looked dead: ${say('because')}.`;
    case 'write.fenced':
      return `A late ${say('write')} of run ${runId} was refused: ${say('because')}. ${data['current'] === runId ? 'No run has followed it.' : `The current run is ${say('current')}.`}${'kept' in data ? ` It is kept aside as ${say('kept')}.` : ''}`;
    case 'write.refused':
      return `A ${say('write')} that run ${runId} had left to be taken in was refused: ${say('because')} What was refused is kept in ${say('kept')}.`;
    case 'submission.accepted':
      return `It submitted ${say('submission')} (${say('bytes')} bytes), which was accepted.`;
    case 'child.waiting':
      return `Run ${say('owner')}, its parent, is over: it waits for the next run of that session to take it over.`;
    case 'child.adopted':
      return `Run ${say('owner')} took it over from run ${say('before')}, which is over.`;
    case 'child.detached':
      return `Run ${say('owner')}, its parent, is over: it goes on by itself.`;
    case 'child.undealt':
      return `It could not end: ${say('because')}. It stays the owner until that is settled.`;
    case 'harness.session.began':
    case 'harness.session.identified':
      return `It serves conversation ${say('nativeId')} (${say('evidence')}).`;
    case 'harness.turn.started':
      return `A turn started (${say('evidence')}).`;
    case 'harness.input.needed':
      return `It waits for a person: ${say('waitingFor')} (${say('evidence')}).`;
    case 'harness.work.continued':
      return `It went on working (${say('evidence')}).`;
    case 'harness.turn.ended':
      return `The turn ended (${say('evidence')}).`;
    case 'harness.session.ended':
      return `The harness closed its session: ${say('reason')} (${say('evidence')}).`;
    case 'native.mismatch':
      return `Asked for conversation ${say('asked')}, the harness began ${say('got')}; that was not bound to the session.`;
    case 'native.taken':
      return `The harness went on with conversation ${say('nativeId')}, which belongs to session ${say('owner')}; it was not bound.`;
    case 'hook.fenced':
      return `A report (${say('what')}) to run ${runId} was refused: ${say('because')}.`;
    case 'outsider.ended':
      return `${actor} ended pid ${say('pid')}, which served the same conversation and was not started by Reeve: ${commandOf(data['argv'])}.`;
    case 'message.delivered':
      return `${actor} sent it a message of ${say('characters')} characters, and it took it.`;
    case 'message.undelivered':
      return `${actor} sent it a message of ${say('characters')} characters; that it took it was not seen.`;
    default:
      return kind.startsWith('review.')
        ? reviewSentence(kind, actor, data)
        : budgetSentence({ kind, actor, data }, currency);
  }
}

function budgetSentence(
  { kind, actor, data }: Pick<StoryEvent, 'kind' | 'actor' | 'data'>,
  currency: string | undefined,
): string {
  const what = String(data['what']);
  switch (kind) {
    case 'budget.set':
      return `${actor} ${budgetSet(data['budget'], currency)}.`;
    case 'budget.warned':
      return `It was warned: it is close to ${what}.`;
    case 'budget.exceeded':
      return `It is over ${what}. It goes on, and a person is asked.`;
    case 'budget.cleared':
      return 'There is nothing to ask about its budget any more.';
    default:
      return muteSentence(kind, actor, data);
  }
}

function muteSentence(kind: string, actor: string, { until }: StoryEvent['data']): string {
  if (kind === 'notify.unmuted') return `${actor} ended the mute of its notifications.`;
  if (kind !== 'notify.muted') return `${actor}: ${kind}.`;
  return `${actor} muted its notifications${typeof until === 'string' ? ` until ${until}` : ''}.`;
}

const AT_PARENTS_END: Readonly<Record<OnParentEnd, string>> = {
  cancel: 'is cancelled',
  adopt: 'is handed to the next run of that session',
  detach: 'goes on by itself',
};

function parentage(parent: unknown): string {
  if (parent === undefined) return '';
  const { startedBy, onParentEnd, subject, revision } = parent as Parentage;
  const about = [subject, revision].filter((word) => word !== null).join(' at ');
  return ` It is a child of run ${startedBy}${about === '' ? '' : `, about ${about}`}, and when that ends it ${AT_PARENTS_END[onParentEnd]}.`;
}

function budgetSet(budget: unknown, currency: string | undefined): string {
  if (budget === null) return 'lifted its budget';
  const limits = budget as Limits;
  const given = BUDGET_KINDS.flatMap((kind) => {
    const limit = limits[kind];
    return limit === null ? [] : [amount(kind, limit, currency)];
  });
  return given.length === 0 ? 'said what happens at a limit' : `set its budget: ${given.join(', ')}`;
}

/** Of the worker's pull requests. What became obsolete is told calmly: nothing went wrong. */
function reviewSentence(kind: string, actor: string, data: StoryEvent['data']): string {
  const say = (field: string) => String(data[field]);
  if (kind === 'review.unlocked') {
    return `${actor} said that the trigger with pid ${say('pid')} on ${say('host')} is gone, which could not be proven: ${say('because')}.`;
  }
  const what = `review ${say('review')} of ${say('pr')} at ${say('head')}`;
  switch (kind) {
    case 'review.created':
      return `${actor} asked for ${what}.`;
    case 'review.skipped':
      return `${actor} asked for ${what}; it was skipped, for its tree is that of review ${say('sameAs')} (${say('verdict')}).`;
    case 'review.started':
      return `Reviewer run ${say('run')} has ${what}.`;
    case 'review.intended':
      return `${actor} meant ${what} to ${INTENDED[say('intent')] ?? say('intent')} once run ${say('run')} is over.`;
    case 'review.kept':
      return `What was meant for ${what} was taken back, and it goes on: ${say('because')}.`;
    case 'review.waits':
      return `Nobody can begin with ${what} yet: ${say('because')}.`;
    case 'review.requeued':
      return `Run ${say('run')} is over; ${what} waits for a fresh reviewer.`;
    case 'review.superseded':
      return `Superseded by ${say('by')}: ${what}${hadBy(data)}.`;
    case 'review.cancelled':
      return `Cancelled: ${what}${hadBy(data)}.`;
    case 'review.submitted':
      return `${actor} submitted ${what}: ${say('verdict')}.`;
    case 'review.failed':
      return `There is no result of ${what}: ${say('reason')}.`;
    case 'review.fenced':
      return `A late submission of ${what} by run ${say('run')} was refused and put aside: ${say('because')}.`;
    default:
      return `${actor}: ${kind} of ${what}.`;
  }
}

const INTENDED: Readonly<Record<string, string>> = {
  supersede: 'be superseded',
  move: 'go to a fresh reviewer',
  cancel: 'be cancelled',
};

function hadBy({ run }: StoryEvent['data']): string {
  return typeof run === 'string' ? `; reviewer run ${run} had it` : '; nobody had begun with it';
}

const WANTED: Readonly<Record<Intent['outcome'], string>> = {
  stopped: 'asked for it to be stopped',
  superseded: 'asked to take the session over',
  cancelled: 'cancelled it together with its parent',
  reaped: 'asked for it to be reaped as idle',
  over_budget: 'asked for it to end, for it was over its budget',
};

function intended(actor: string, intent: Intent): string {
  return `${actor} ${WANTED[intent.outcome]}.`;
}

const DEMAND: Readonly<Partial<Record<Intent['outcome'], string>>> = {
  stopped: 'stop it',
  superseded: 'take the session over',
};

function withdrawn(actor: string, data: StoryEvent['data']): string {
  const demand = DEMAND[data['outcome'] as Intent['outcome']] ?? 'end it';
  const next = data['next'] as Intent | null;
  const goesOn =
    next === null
      ? 'It had not ended, and goes on.'
      : `It had not ended, and ${next.actor} still wants it to end.`;
  const why = typeof data['because'] === 'string' ? `gave up (${data['because']})` : 'was interrupted';
  return `${actor} ${why} and took back the request to ${demand}. ${goesOn}`;
}

function ended(runId: string | null, ending: Ending): string {
  const how =
    ending.signal !== null
      ? `, signal ${ending.signal}`
      : ending.exitCode !== null
        ? `, exit ${ending.exitCode}`
        : '';
  const evidence = ending.evidence.length === 0 ? '' : ` Evidence: ${ending.evidence.join('; ')}.`;
  // The actor of an end that was wanted is whoever wanted it, and may be long gone when it is put on record.
  const isIntended = INTENDED_OUTCOMES.some((outcome) => outcome === ending.outcome);
  const by = `${isIntended ? 'asked for' : 'recorded'} by ${ending.actor}`;
  return `Run ${runId} ended as ${ending.outcome}${how}: ${ending.reason} (${by}).${evidence}`;
}

function containmentOf(data: StoryEvent['data']): string {
  const { by } = data['containment'] as { by: string };
  if (by === 'cgroup') return 'a cgroup of its own';
  return by === 'subreaper' ? 'being the subreaper of all it starts' : 'its process group, session and marks';
}

function survivors(members: unknown, because: unknown): string {
  const names = (members as { name: string; pid: number }[]).map(({ name, pid }) => `${name} (pid ${pid})`);
  if (names.length > 0) return `Some of its processes could not be ended and are alive: ${names.join(', ')}`;
  return typeof because === 'string'
    ? `It could not be ended: ${because}`
    : 'It was killed, but the kernel still counts processes in its group; none could be named';
}

/** A prompt may be a page long; the sentence only has to tell which command it was. */
const MAX_COMMAND_LENGTH = 160;

function commandOf(argv: unknown): string {
  const command = (argv as string[])
    .map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ');
  return command.length > MAX_COMMAND_LENGTH ? `${command.slice(0, MAX_COMMAND_LENGTH)}…` : command;
}
