/** What the daemon answers, beyond the shapes that `--json` has too. Times are ISO 8601. */
import type { ReviewStatus, Verdict } from '../lifecycle/review.ts';
import type { ChildView, RunView, SessionView } from './session-view.ts';
import type { SessionSpentView } from './usage-view.ts';

/** One limit that counts for a session, and how much of it is used up. */
export interface BudgetView {
  readonly scope: 'run' | 'session' | 'tree' | 'day';
  readonly kind: 'tokens' | 'cost' | 'minutes';
  readonly spent: number;
  readonly limit: number;
  /** Of the limit; more than 1 when it was overspent. */
  readonly fraction: number;
  /** `unknown`: at least `spent` was spent, and how much more is known by another host only. */
  readonly state: 'within' | 'warn' | 'over' | 'unknown';
  /** Of a cost: that of the configured prices. */
  readonly currency?: string | undefined;
  /** Of an unknown one: that host. */
  readonly measuredOn?: string | undefined;
}

export interface BudgetDetail extends BudgetView {
  /** Whose it is: a run, a session, or a day. */
  readonly holder: string;
  readonly onExceeded: 'end' | 'ask';
  /** Models whose price is not known, so that what they cost is not in it. */
  readonly unpriced: readonly string[];
}

/** What counts for one session. */
export interface SessionBudgets {
  readonly session: string;
  readonly id: string;
  readonly live: boolean;
  readonly onExceeded: 'end' | 'ask';
  /** What its own runs spent, without those below them. */
  readonly ownTokens: number;
  /** The one that is used up most first. */
  readonly budgets: readonly BudgetDetail[];
}

/** A session in the overview: what `ls --json` says, and what only somebody who stays can afford to look up. */
export interface SessionRow extends SessionView {
  /** The branch checked out in its directory; null where that is no repository, or a commit is checked out. */
  readonly branch: string | null;
  /** What its whole tree holds in memory; null when it is not live, or cannot be told. */
  readonly memoryBytes: number | null;
  /** What it has spent in all, cached input included; null when nothing is known. */
  readonly tokens: number | null;
  /** The limits that count for it, the one that is used up most first; empty when there is none, and once it has ended. */
  readonly budgets: readonly BudgetView[];
}

export interface OverviewView {
  readonly sessions: readonly SessionRow[];
  /** How many ended sessions there are beyond these. */
  readonly earlier: number;
  /** The number of the last event that this includes: events after it say what has changed since. */
  readonly seq: number;
}

/** Everything about one session. */
export interface SessionDetailView extends SessionRow {
  /** What it has spent in all, and what that cost; null when nothing is known. */
  readonly spent: SessionSpentView | null;
  /** What its runs started, and what those started in turn, the earliest first. */
  readonly children: readonly ChildView[];
  /** Every run of it, the latest last. */
  readonly runs: readonly RunView[];
  /** Why nothing could be proven about the current run, when nothing could. */
  readonly doubt: string | null;
  /** Whether its notifications are muted, and until when; null when they are not. */
  readonly mute: { readonly until: string | null } | null;
}

/** Whether a session's notifications are muted; until null is for good. */
export interface MuteView {
  readonly session: string;
  readonly id: string;
  readonly muted: boolean;
  readonly until: string | null;
}

/** What became of a test message, by each way that is configured. */
export interface NotifyTestView {
  readonly channels: readonly {
    readonly name: string;
    readonly sent: boolean;
    /** Why not; null when it was sent. */
    readonly because: string | null;
  }[];
}

/** A process that would end with its run. */
export interface MemberView {
  readonly pid: number;
  readonly name: string;
  readonly memoryBytes: number | null;
}

export interface TreeView {
  readonly run: string;
  readonly processes: readonly MemberView[];
}

export interface EventView {
  readonly seq: number;
  readonly at: string;
  readonly sessionId: string;
  /** Null once the session is forgotten. */
  readonly session: string | null;
  readonly run: string | null;
  readonly kind: string;
  readonly actor: string;
  /** The event as a sentence, as `why` tells it. */
  readonly text: string;
}

export interface EventsView {
  readonly events: readonly EventView[];
  /** Ask with `after` set to this for more; null when these were the last. */
  readonly next: number | null;
}

export interface WhyView {
  readonly session: string;
  readonly sentences: readonly { readonly at: string; readonly run: string | null; readonly text: string }[];
  readonly doubt: string | null;
}

/** How a terminal joins a session. */
export interface JoinView {
  readonly command: string;
  /** The machine on which to type it; null for the daemon's own. */
  readonly host: string | null;
}

export interface LogView {
  readonly run: string;
  readonly logPath: string | null;
  /** The end of the log, or all of it. */
  readonly text: string;
  /** Whether earlier output was left out. */
  readonly isCut: boolean;
}

/** A run in tmux as its terminal shows it, with the escape sequences of its colours. */
export interface ScreenView {
  readonly run: string;
  readonly screen: string;
  readonly columns: number;
  readonly rows: number;
}

/** The review of one head of one pull request of one worker. */
export interface ReviewView {
  readonly id: string;
  /** The session whose work is reviewed: its name and its id. */
  readonly worker: string;
  readonly workerId: string;
  readonly pr: string;
  readonly head: string;
  /** What the head contains; null where no repository told. */
  readonly tree: string | null;
  /** Derived from the facts beside it. */
  readonly status: ReviewStatus;
  readonly verdict: Verdict | null;
  /** Why it is over without a verdict, or whose verdict it has. */
  readonly reason: string | null;
  /** The session that reviews, and the run of it that has, or had, this one; null while none has. */
  readonly reviewer: { readonly session: string; readonly run: string } | null;
  /** What that run has spent, also for other reviews of the same queue; null when nothing is known. */
  readonly tokens: number | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** The review of a newer head that takes, or took, its place. */
  readonly supersededBy: string | null;
  /** Whether its head is the one that was last asked for. Time alone never changes that. */
  readonly isCurrent: boolean;
}

/** The same with what the reviewer wrote. */
export interface ReviewDetailView extends ReviewView {
  readonly body: string | null;
  /** What it wrote too late to count, and why that was refused. */
  readonly late: { readonly body: string; readonly because: string } | null;
  /** What the reviewer printed; null where no run has had it. */
  readonly logPath: string | null;
}

export interface ReviewsView {
  readonly reviews: readonly ReviewView[];
}

/** What a trigger did about one pull request. */
export interface TriggeredView {
  readonly is: 'reused' | 'up-to-date' | 'duplicate' | 'created';
  readonly review: ReviewView;
  /** Of a duplicate: what the review of the same tree had spent, and so was not spent again. */
  readonly savedTokens: number | null;
}

export interface TriggerView {
  readonly worker: string;
  /** The reviewer's session, and its live run; null when there is none. */
  readonly reviewer: { readonly session: string; readonly run: string } | null;
  /** Whether a fresh reviewer was started, with the whole queue. */
  readonly isStarted: boolean;
  /** The run of the reviewer that was ended for it. */
  readonly retired: string | null;
  readonly pullRequests: readonly TriggeredView[];
  readonly superseded: readonly ReviewView[];
}

export interface SubmittedView {
  readonly accepted: true;
  /** The same was submitted before. */
  readonly again: boolean;
  readonly review: ReviewView;
}

export interface CancelledView {
  readonly cancelled: readonly ReviewView[];
  /** The run of the reviewer that had nothing left to do, and was ended. */
  readonly retired: string | null;
}

export interface DaemonView {
  readonly version: string;
  readonly pid: number;
  readonly host: string;
  readonly user: string;
  readonly home: string;
  readonly store: string;
  readonly startedAt: string;
}

export interface ErrorView {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string | undefined;
    readonly details: Readonly<Record<string, unknown>>;
  };
}
