/**
 * The library inside a run from which the store is withheld. It asks the daemon with the run's own token, and so sees and
 * does what is that run's own. What a run writes is left in its spool when no daemon can take it.
 */
import { randomUUID } from 'node:crypto';
import { ReeveError } from '../api/errors.ts';
import type { SessionDetailView, SubmittedView, WhyView } from '../api/http-views.ts';
import type { SessionView } from '../api/session-view.ts';
import type { SubmissionDetailView, SubmissionsView } from '../api/submission-view.ts';
import type { UsageView } from '../api/usage-view.ts';
import type { SessionBudgets } from '../api/http-views.ts';
import { checkUsage } from './add-usage.ts';
import type { AddedUsage } from './add-usage.ts';
import type { Machine } from './context.ts';
import { askDaemon } from './daemon-client.ts';
import type { Heartbeat } from './heartbeat.ts';
import { leaveWrite } from './leave-write.ts';
import type { Queued } from './queued.ts';
import type { Reeve, Reviews } from './reeve.ts';
import { checkReview } from './review-submit.ts';
import { credentialsFrom } from './run-credentials.ts';
import type { RunCredentials } from './run-credentials.ts';
import type { RunWrite } from './spooled-write.ts';
import { checkSubmission } from './submit.ts';
import type { Submitted } from './submit.ts';
import { notFromInside, storeWithheld } from './withheld.ts';
import type { Story } from './why.ts';

export function reeveInside(machine: Machine): Reeve {
  const refused = () => Promise.reject(notFromInside());
  return {
    ...writesOf(machine),
    ...looksOf(machine),
    reviews: reviewsOf(machine),
    launch: refused,
    resume: refused,
    retire: refused,
    stop: refused,
    assumeGone: refused,
    reconcile: refused,
    settle: refused,
    hasLog: refused,
    // oxlint-disable-next-line require-yield
    async *logs() {
      throw notFromInside();
    },
    remove: refused,
    children: refused,
    scan: refused,
    adopt: refused,
    screen: refused,
    attachCommand: refused,
    send: refused,
    setBudget: refused,
    mute: refused,
    unmute: refused,
    watch: refused,
    close: () => Promise.resolve(),
  };
}

function writesOf(machine: Machine): Pick<Reeve, 'heartbeat' | 'submit' | 'addUsage'> {
  return {
    async heartbeat(given) {
      const holder = given ?? credentialsFrom(machine);
      const told = await write<Heartbeat>(machine, holder, '/v1/heartbeat', {}, { write: 'heartbeat' });
      return told ?? { ...QUEUED, run: holder.run };
    },
    async submit(request, given) {
      const { key } = checkSubmission(request);
      const holder = given ?? credentialsFrom(machine);
      const { data } = request;
      const left = { write: 'submission', data, key } as const;
      return (
        (await write<Submitted>(machine, holder, '/v1/submit', { data, key }, left)) ?? { ...QUEUED, key }
      );
    },
    async addUsage(request, given) {
      const tokens = checkUsage(request);
      const { run, token } = given ?? credentialsFrom(machine);
      const { model } = request;
      // Chosen here, so that what the daemon took without being able to say so is not counted again from the spool.
      const key = request.key ?? randomUUID();
      const body = { ...tokens, model, key };
      const left = { write: 'usage', model, key, tokens } as const;
      const told = await write<AddedUsage>(machine, { run, token }, '/v1/usage/add', body, left);
      return told ?? { ...QUEUED, run, model, ...tokens };
    },
  };
}

const QUEUED: Queued = { accepted: false, queued: true };

/** Null when it is left in the spool. */
async function write<T>(
  machine: Machine,
  { run, token }: RunCredentials,
  path: string,
  body: unknown,
  what: RunWrite,
): Promise<T | null> {
  try {
    // The daemon's answers are held to the schemas of these very types.
    return (await askDaemon(machine, 'POST', path, body, `Bearer ${run}.${token}`)) as T;
  } catch (error) {
    if (!isUnheard(error)) throw error;
    if (await leaveWrite(machine.home, { run, token, what })) return null;
    throw error.code === 'no_daemon' ? withoutDaemon() : error;
  }
}

/** Nobody who has the run's store has taken it, as far as is known; taken twice, it counts once. */
function isUnheard(error: unknown): error is ReeveError {
  if (!(error instanceof ReeveError)) return false;
  // A daemon that was started for another store than the run knows nothing of the run.
  const isUnknownRun = error.code === 'fenced' && error.details['current'] === null;
  return error.code === 'no_daemon' || error.code === 'store_unavailable' || isUnknownRun;
}

type Looks =
  | 'list'
  | 'listWithCosts'
  | 'show'
  | 'spent'
  | 'why'
  | 'usage'
  | 'budget'
  | 'submissions'
  | 'submission';

function looksOf(machine: Machine): Pick<Reeve, Looks> {
  const own = () => credentialsFrom(machine).run;
  const show = (reference: string) => look<SessionDetailView>(machine, `/v1/sessions/${part(reference)}`);
  return {
    list: async () => [sessionOf(await show(own()))],
    listWithCosts: async () => {
      const detail = await show(own());
      return [{ ...sessionOf(detail), tokens: detail.tokens, budgets: detail.budgets }];
    },
    show,
    spent: async (reference) => (await show(reference)).spent,
    why: async (reference) => storyOf(await look<WhyView>(machine, `/v1/sessions/${part(reference)}/why`)),
    usage: ({ session = own(), by, sinceMs, tree } = {}) => {
      const since = sinceMs === undefined ? undefined : new Date(sinceMs).toISOString();
      return look<UsageView>(machine, `/v1/usage${query({ session, by, since, tree })}`);
    },
    budget: async (session = own()) =>
      (await look<{ sessions: SessionBudgets[] }>(machine, `/v1/budget${query({ session })}`)).sessions,
    submissions: ({ session = own(), refused } = {}) =>
      look<SubmissionsView>(machine, `/v1/submissions${query({ session, refused })}`),
    submission: (id) => look<SubmissionDetailView>(machine, `/v1/submissions/${part(id)}`),
  };
}

async function look<T>(machine: Machine, path: string): Promise<T> {
  const { run, token } = holderOf(machine);
  try {
    return (await askDaemon(machine, 'GET', path, undefined, `Bearer ${run}.${token}`)) as T;
  } catch (error) {
    if (!(error instanceof ReeveError)) throw error;
    if (error.code === 'no_daemon') throw withoutDaemon();
    if (error.code !== 'unauthorised') throw error;
    throw storeWithheld(
      'the daemon would have to look, and that does not know this run',
      'Is it a daemon of another store? From outside: reeve serve status',
    );
  }
}

/** Where the word came without the rest of a run's environment, nobody can be asked for anything. */
function holderOf(machine: Machine): RunCredentials {
  try {
    return credentialsFrom(machine);
  } catch {
    throw notFromInside();
  }
}

function withoutDaemon(): ReeveError {
  return storeWithheld(
    'only a daemon can look it up, and none answers',
    'Look from outside, or start a daemon there: reeve serve --detach',
  );
}

const part = (reference: string) => encodeURIComponent(reference);

function query(fields: Readonly<Record<string, string | boolean | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return `?${new URLSearchParams(given).toString()}`;
}

/** As `ls` tells it, without what only a single session is asked for. */
function sessionOf(detail: SessionDetailView): SessionView {
  const { name, id, harness, cwd, argv, nativeId, status, activity, epoch, run } = detail;
  return { name, id, harness, cwd, argv, nativeId, status, activity, epoch, run };
}

function storyOf({ session, sentences, doubt }: WhyView): Story {
  const told = sentences.map(({ at, run, text }) => ({ atMs: Date.parse(at), runId: run, text }));
  return { session: { name: session }, sentences: told, doubt };
}

function reviewsOf(machine: Machine): Reviews {
  const refused = () => Promise.reject(notFromInside());
  return {
    trigger: refused,
    cancel: refused,
    list: refused,
    show: refused,
    watch: refused,
    async submit(request, given) {
      checkReview(request);
      const holder = given ?? credentialsFrom(machine);
      const { review, verdict, body } = request;
      const left = { write: 'review', review, verdict, body } as const;
      const path = `/v1/reviews/${part(review)}/submit`;
      const told = await write<SubmittedView>(machine, holder, path, { verdict, body }, left);
      return told ?? { ...QUEUED, review, verdict };
    },
  };
}
