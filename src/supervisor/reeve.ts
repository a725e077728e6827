/** The library: one object, the use cases as its methods, the same that the CLI calls. */
import type { addUsage } from './add-usage.ts';
import type { adopt } from './adopt.ts';
import type { budget, setBudget } from './budget-view.ts';
import type { listChildren } from './child-views.ts';
import type { listWithCosts } from './costs.ts';
import { isWithheld, openContext, openMachine } from './context.ts';
import type { Context, OpenOptions } from './context.ts';
import type { heartbeat } from './heartbeat.ts';
import { launch } from './launch.ts';
import type { list, show } from './list.ts';
import type { hasLog, logs } from './logs.ts';
import type { mute, unmute } from './mute.ts';
import type { QueuedHeartbeat, QueuedReview, QueuedSubmission, QueuedUsage } from './queued.ts';
import type { reconcileAll } from './reconcile.ts';
import type { remove } from './remove.ts';
import type { resume } from './resume.ts';
import type { RetireResult } from './retire.ts';
import type { attachCommand, screen } from './pane.ts';
import type { cancelReviews } from './review-cancel.ts';
import type { listReviews, showReview } from './review-list.ts';
import type { submitReview } from './review-submit.ts';
import type { triggerReviews } from './review-trigger.ts';
import type { watchReviews } from './review-watch.ts';
import type { scan } from './scan.ts';
import type { send } from './send.ts';
import type { settle } from './settle.ts';
import type { spent } from './spent.ts';
import type { assumeGone, stop } from './stop.ts';
import type { submission, submissions } from './submissions.ts';
import type { submit } from './submit.ts';
import type { usage } from './usage.ts';
import type { why } from './why.ts';
import { DEFAULT_GRACE_MS } from './launch.ts';

export type { HarnessName } from '../harness/adapter.ts';
export { tieToTerminal } from '../process/terminal.ts';

type Bound<F> = F extends (context: Context, ...rest: infer Rest) => infer Result
  ? (...rest: Rest) => Result
  : never;

/** For what a run writes: inside one from which the store is withheld, it may be left to be taken in later. */
type OrQueued<F extends (...given: never[]) => Promise<unknown>, Queued> = (
  ...given: Parameters<F>
) => Promise<Awaited<ReturnType<F>> | Queued>;

export interface Reeve {
  readonly launch: Bound<typeof launch>;
  readonly resume: Bound<typeof resume>;
  /** Ends the run that owns the session, as superseded, and proves it. */
  retire(reference: string, options?: { graceMs?: number }): Promise<RetireResult>;
  stop(reference: string, options?: { graceMs?: number }): ReturnType<typeof stop>;
  readonly assumeGone: Bound<typeof assumeGone>;
  /** Looks at every run on record as live, and ends those that are proven dead. */
  reconcile(): ReturnType<typeof reconcileAll>;
  /** Looks once more at those of which nothing could be proven, each for itself. */
  readonly settle: Bound<typeof settle>;
  readonly list: Bound<typeof list>;
  /** The same with what each has spent, and of which limits. */
  readonly listWithCosts: Bound<typeof listWithCosts>;
  readonly show: Bound<typeof show>;
  readonly why: Bound<typeof why>;
  /** What was spent, after reading what transcripts have to add. */
  readonly usage: Bound<typeof usage>;
  /** The same of one session in all, as far as it is quick; null when nothing is known. */
  readonly spent: Bound<typeof spent>;
  readonly logs: Bound<typeof logs>;
  readonly hasLog: Bound<typeof hasLog>;
  readonly remove: Bound<typeof remove>;
  readonly heartbeat: OrQueued<Bound<typeof heartbeat>, QueuedHeartbeat>;
  readonly submit: OrQueued<Bound<typeof submit>, QueuedSubmission>;
  readonly submissions: Bound<typeof submissions>;
  readonly submission: Bound<typeof submission>;
  readonly addUsage: OrQueued<Bound<typeof addUsage>, QueuedUsage>;
  /** What the runs of a session started; without one, of the run inside which this is asked, or else of all. */
  readonly children: Bound<typeof listChildren>;
  readonly scan: Bound<typeof scan>;
  readonly adopt: Bound<typeof adopt>;
  readonly screen: Bound<typeof screen>;
  readonly attachCommand: Bound<typeof attachCommand>;
  readonly send: Bound<typeof send>;
  /** What may be spent, and what is spent of it, of one session or of all live ones. */
  readonly budget: Bound<typeof budget>;
  readonly setBudget: Bound<typeof setBudget>;
  /** Its notifications are not sent any more, until then or for good. */
  readonly mute: Bound<typeof mute>;
  readonly unmute: Bound<typeof unmute>;
  readonly reviews: Reviews;
  /** Calls soon after anything was written, by this process or another, until the answer is called. */
  watch(listener: () => void): Promise<() => void>;
  close(): Promise<void>;
}

export interface Reviews {
  /** These heads are to be reviewed: what is done is not done again, and what is obsolete is ended first. */
  readonly trigger: Bound<typeof triggerReviews>;
  readonly submit: OrQueued<Bound<typeof submitReview>, QueuedReview>;
  readonly cancel: Bound<typeof cancelReviews>;
  readonly list: Bound<typeof listReviews>;
  readonly show: Bound<typeof showReview>;
  /** Triggers whenever a branch's head has moved and come to rest, until the signal is given. */
  readonly watch: Bound<typeof watchReviews>;
}

export async function openReeve(options: OpenOptions = {}): Promise<Reeve> {
  if (isWithheld(options)) return (await import('./reeve-inside.ts')).reeveInside(await openMachine(options));
  return reeveOf(await openContext(options));
}

export function reeveOf(context: Context): Reeve {
  return {
    launch: (request) => launch(context, request),
    resume: async (reference, request) => (await import('./resume.ts')).resume(context, reference, request),
    retire: (reference, { graceMs = DEFAULT_GRACE_MS } = {}) => retire(context, reference, graceMs),
    stop: async (reference, { graceMs = DEFAULT_GRACE_MS } = {}) =>
      (await ending()).stop(context, reference, graceMs),
    assumeGone: async (reference) => (await ending()).assumeGone(context, reference),
    reconcile: async () => (await import('./reconcile.ts')).reconcileAll(context, await context.store.live()),
    settle: async (references, how) => (await import('./settle.ts')).settle(context, references, how),
    list: async (range) => (await looking()).list(context, range),
    listWithCosts: async (range) => (await import('./costs.ts')).listWithCosts(context, range),
    show: async (reference) => (await looking()).show(context, reference),
    why: async (reference) => (await import('./why.ts')).why(context, reference),
    usage: async (request) => (await import('./usage.ts')).usage(context, request),
    spent: async (reference) => (await import('./spent.ts')).spent(context, reference),
    async *logs(reference, request) {
      yield* (await logging()).logs(context, reference, request);
    },
    hasLog: async (reference) => (await logging()).hasLog(context, reference),
    remove: async (reference) => (await import('./remove.ts')).remove(context, reference),
    heartbeat: async (credentials) => (await import('./heartbeat.ts')).heartbeat(context, credentials),
    submit: async (request, credentials) =>
      (await import('./submit.ts')).submit(context, request, credentials),
    submissions: async (request) => (await submitted()).submissions(context, request),
    submission: async (id) => (await submitted()).submission(context, id),
    addUsage: async (request, credentials) =>
      (await import('./add-usage.ts')).addUsage(context, request, credentials),
    children: async (reference) => (await import('./child-views.ts')).listChildren(context, reference),
    scan: async () => (await import('./scan.ts')).scan(context),
    adopt: async (pid, wanted) => (await import('./adopt.ts')).adopt(context, pid, wanted),
    screen: async (reference, historyLines) => (await pane()).screen(context, reference, historyLines),
    attachCommand: async (reference) => (await pane()).attachCommand(context, reference),
    send: async (reference, request) => (await import('./send.ts')).send(context, reference, request),
    budget: async (reference) => (await budgets()).budget(context, reference),
    setBudget: async (reference, change) => (await budgets()).setBudget(context, reference, change),
    mute: async (reference, untilMs) => (await muting()).mute(context, reference, untilMs),
    unmute: async (reference) => (await muting()).unmute(context, reference),
    reviews: reviewsOf(context),
    watch: (listener) => context.store.watch(listener),
    close: () => context.store.close(),
  };
}

function reviewsOf(context: Context): Reviews {
  return {
    trigger: async (request) => (await import('./review-trigger.ts')).triggerReviews(context, request),
    submit: async (request, credentials) =>
      (await import('./review-submit.ts')).submitReview(context, request, credentials),
    cancel: async (request) => (await import('./review-cancel.ts')).cancelReviews(context, request),
    list: async (range) => (await reviewing()).listReviews(context, range),
    show: async (reference) => (await reviewing()).showReview(context, reference),
    watch: async (request) => (await import('./review-watch.ts')).watchReviews(context, request),
  };
}

// A start is mostly loading, so what it does not need is loaded by whoever does.
const pane = () => import('./pane.ts');
const muting = () => import('./mute.ts');
const budgets = () => import('./budget-view.ts');
const looking = () => import('./list.ts');
const logging = () => import('./logs.ts');
const ending = () => import('./stop.ts');
const submitted = () => import('./submissions.ts');
const reviewing = () => import('./review-list.ts');

async function retire(context: Context, reference: string, graceMs: number): Promise<RetireResult> {
  const { resolveCurrent } = await import('./resolve.ts');
  const { run } = await resolveCurrent(context, reference);
  if (run.state === 'ended') return { is: 'ended', run };
  const { intentNow, retireRun } = await import('./retire.ts');
  const reason = `${context.actor} retired it`;
  return retireRun(context, run, intentNow({ outcome: 'superseded', actor: context.actor, reason }), graceMs);
}
