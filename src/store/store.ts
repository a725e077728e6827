/** What Reeve remembers. Each method is one unit of work; a write that lost its race says so and changes nothing. */
import type { BudgetChange, SessionBudget } from '../lifecycle/session-budget.ts';
import type { ChildTerms } from '../lifecycle/child.ts';
import type { HarnessFact } from '../lifecycle/harness-fact.ts';
import type { Run, RunMode, RunningRun, Step, StepResult } from '../lifecycle/run.ts';
import type { ProcessIdentity } from '../lifecycle/process-identity.ts';
import type { SpentOnDay } from '../lifecycle/price.ts';
import type { Review, ReviewStep, Verdict } from '../lifecycle/review.ts';
import type { WantedHead } from '../lifecycle/review-plan.ts';
import type { Session } from '../lifecycle/session.ts';
import type { StoreNow } from '../lifecycle/store-continuity.ts';
import type { KnownAs } from '../lifecycle/submission.ts';
import type { Tokens, UsagePosition, UsageRecord } from '../lifecycle/usage.ts';
import type { BudgetFacts, BudgetQuery } from './budget-facts.ts';
import type { EventRange } from './log.ts';
import type { Durability } from './sql.ts';
import type { LeftInSpool } from './taken-elsewhere.ts';

export interface SessionWithRun {
  readonly session: Session;
  /** The session's latest run, live or ended. */
  readonly run: Run;
}

export interface ClaimRequest {
  readonly runId: string;
  /** Used when the session is new. */
  readonly sessionId: string;
  readonly sessionName: string;
  readonly harness: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly mode: RunMode;
  readonly actor: string;
  readonly launcher: ProcessIdentity;
  readonly tokenHash: string;
  readonly logPath: string | null;
  /** The conversation that is resumed, or whose id was chosen for the harness; null when the harness will tell. */
  readonly nativeId: string | null;
  /** What changes about what the session may spend; nothing when it is left out. */
  readonly budget?: BudgetChange | undefined;
  /** A name that must not exist yet: set for proposed names, so that they never join somebody's session. */
  readonly mustBeNew: boolean;
  /**
   * The run inside which it is started, as its token proves, and on which terms; null for one of its own. Without a token
   * it is the user's own word that it belongs there.
   */
  readonly parent: (ChildTerms & { readonly runId: string; readonly token: string | null }) | null;
}

export type ClaimResult =
  | ({ readonly won: true } & SessionWithRun)
  | ({ readonly won: false; readonly because: 'owned' | 'name_taken' | 'native_taken' } & SessionWithRun)
  /** The parent may start nothing any more; it is the run told here, and `why` says what is the matter with it. */
  | ({ readonly won: false; readonly because: 'parent_over'; readonly why: string } & SessionWithRun);

/** Which store it is and how far its history goes: what a host compares with what it has seen before. */
export interface StoreState extends StoreNow {
  /** Grows whenever it is found to have lost something: every host then says anew which of its runs live. */
  readonly incarnation: number;
  /** The incarnation in which the asking host did so; null when it never had a run here. */
  readonly announced: number | null;
}

/** An installation that has runs in the store. */
export interface Host {
  readonly id: string;
  readonly name: string;
}

/** A living run that the store may have forgotten. */
export interface Forgotten {
  readonly session: Session;
  readonly run: RunningRun;
  /** Why it is announced, as the end of a sentence. */
  readonly because: string;
  /** Otherwise it may live, where nobody who announces it can see. */
  readonly isSeen: boolean;
  /** For a session of its own, where its own has another owner by now. */
  readonly newSessionId: string;
}

export type AnnounceResult =
  | { readonly is: 'known'; readonly run: Run }
  | { readonly is: 'announced' }
  /** Its session has another owner, so it is on record under this name. */
  | { readonly is: 'apart'; readonly name: string };

export interface StoredEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly sessionId: string;
  readonly runId: string | null;
  readonly kind: string;
  readonly actor: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type FenceResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly because: string; readonly current: Run | null };

/** A text that a run hands in. The id is used when it is stored. */
export interface NewSubmission extends LeftInSpool {
  readonly id: string;
  readonly runId: string;
  readonly token: string;
  readonly key: string;
  readonly digest: string;
  readonly bytes: number;
  readonly data: string;
}

export type SubmitResult =
  | { readonly is: 'accepted'; readonly id: string; readonly again: boolean }
  /** The key stands for another content, which is that of `id`. */
  | { readonly is: 'conflict'; readonly id: string }
  | { readonly is: 'full'; readonly because: string }
  | {
      readonly is: 'fenced';
      readonly because: string;
      readonly current: Run | null;
      /** Where its content is all the same; null when it is nowhere, and `why` says why. */
      readonly known: KnownAs | null;
      readonly why: string;
    };

export interface Submission {
  readonly id: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly atMs: number;
  readonly key: string;
  readonly digest: string;
  readonly bytes: number;
  readonly isAccepted: boolean;
  /** Why it was not. */
  readonly because: string | null;
}

export interface SubmissionWithData extends Submission {
  readonly data: string;
}

export interface SubmissionsQuery {
  readonly sessionId?: string | undefined;
  readonly which: 'all' | 'refused';
  readonly limit: number;
}

/** What a run says that it spent. */
export interface ReportedUsage extends LeftInSpool {
  readonly runId: string;
  readonly token: string;
  readonly key: string;
  readonly model: string;
  readonly tokens: Tokens;
}

export type AddUsageResult =
  | { readonly is: 'accepted'; readonly again: boolean }
  /** The key stands for other numbers. */
  | { readonly is: 'conflict' }
  /** It is read from the transcripts of this harness, and would count twice. */
  | { readonly is: 'read_elsewhere'; readonly harness: string }
  | { readonly is: 'fenced'; readonly because: string; readonly current: Run | null };

/** What became of something that a harness said. */
export type ObserveResult =
  | { readonly is: 'accepted'; readonly run: Run }
  /** It was taken before: two readers saw it, or one died before it could forget it. */
  | { readonly is: 'seen' }
  | { readonly is: 'fenced'; readonly because: string };

interface Found {
  readonly matches: readonly SessionWithRun[];
}

export interface Overview {
  readonly live: readonly SessionWithRun[];
  readonly ended: readonly SessionWithRun[];
}

/** What is counted for ever: starts that were refused because of a live owner, and writes of runs that were over. */
export type Counter = 'claims_lost' | 'writes_fenced';

export interface Figures {
  /** How many runs ended how; `live` are those that have not. */
  readonly runs: Readonly<Record<string, number>>;
  /** The same of sessions, by their latest run. */
  readonly sessions: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<Counter, number>>;
  /** What each harness spent in all, also in sessions that were forgotten since. */
  readonly tokens: Readonly<Record<string, Tokens>>;
}

/** A transcript, or what else tells what a conversation of a session cost. */
export interface UsageFile {
  readonly nativeId: string;
  readonly path: string;
}

/** What was read between two positions of a file. */
export interface UsageBatch extends UsageFile {
  readonly sessionId: string;
  /** As it was when the reading began; null when it had never been read. */
  readonly from: UsagePosition | null;
  readonly to: UsagePosition;
  readonly records: readonly UsageRecord[];
}

export type RecordedUsage =
  | 'recorded'
  /** Somebody else has read on from there, or from elsewhere: nothing was written. */
  | 'moved'
  /** The session was forgotten. */
  | 'gone';

export interface UsageQuery {
  readonly by: 'run' | 'session' | 'model' | 'day' | 'harness';
  readonly sessionId?: string | undefined;
  /** Any of these. */
  readonly sessionIds?: readonly string[] | undefined;
  readonly runId?: string | undefined;
  /** A day begins at midnight in UTC; since then, the sums of days are enough. */
  readonly sinceMs?: number | undefined;
}

/** What was spent under one name: an id, a model, a day (UTC), a harness. */
export interface UsageSum extends Tokens {
  readonly name: string;
  /** How much of the total was spent by runs that were over, or had been superseded. */
  readonly late: number;
}

/** The same divided by model and day, which is what a price depends on. */
export interface UsagePart extends UsageSum, SpentOnDay {
  /** The name of its session; null where a name stands for several. */
  readonly session: string | null;
}

/** Something of a budget that is told once: `key` says which. */
export interface BudgetNote {
  readonly key: string;
  readonly event: Omit<StoredEvent, 'seq' | 'atMs'>;
}

/** For how long a live run has been live and its machine awake. */
export interface AwakeRun {
  readonly runId: string;
  readonly awakeMs: number;
}

export interface OverBudgetOrder {
  readonly runId: string;
  readonly what: string | null;
  readonly event: BudgetNote['event'];
}

/** A review with what is to be known of it beside its own record. */
export interface ReviewRecord {
  readonly review: Review;
  /** The worker's name. */
  readonly worker: string;
  /** Whether its head is the one that was last asked for. */
  readonly isCurrent: boolean;
}

export interface ReviewQuery {
  readonly sessionId?: string | undefined;
  /** Only those that are not over. */
  readonly only?: 'open' | undefined;
  /** An id, or the beginning of one. */
  readonly reference?: string | undefined;
}

export interface ReviewTexts {
  readonly body: string | null;
  readonly late: { readonly body: string; readonly because: string } | null;
}

export interface ReviewLockRequest {
  readonly sessionId: string;
  readonly token: string;
  readonly holder: ProcessIdentity;
  /** The token of a holder that was proven dead, which this one displaces. */
  readonly instead: string | null;
}

export type ReviewLockResult =
  | { readonly is: 'taken' }
  | { readonly is: 'held'; readonly token: string; readonly holder: ProcessIdentity }
  /** The worker was forgotten. */
  | { readonly is: 'gone' };

export interface ReviewPlanWrite {
  readonly sessionId: string;
  /** Without the lock nothing is written. */
  readonly lockToken: string;
  readonly actor: string;
  readonly heads: readonly WantedHead[];
  readonly created: readonly (WantedHead & { readonly id: string } & (
      | { readonly state: 'queued' }
      | { readonly state: 'duplicate'; readonly sameAs: string; readonly verdict: Verdict | null }
    ))[];
  readonly steps: readonly ReviewStepOf[];
}

export interface ReviewStepOf {
  readonly id: string;
  readonly step: ReviewStep;
}

export interface ReviewSubmission extends LeftInSpool {
  readonly id: string;
  readonly runId: string;
  readonly token: string;
  readonly verdict: Verdict;
  readonly body: string;
}

export type ReviewSubmitResult =
  | { readonly is: 'accepted' | 'again'; readonly review: Review }
  /** `isKept`: what was written was put aside. */
  | { readonly is: 'refused'; readonly because: string; readonly isKept: boolean };

export interface KnownConversation {
  readonly harness: string;
  readonly nativeId: string;
  readonly paths: readonly string[];
}

export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  readonly place: string;
  claim(request: ClaimRequest): Promise<ClaimResult>;
  /** As the host sees it whose installation this is. */
  state(
    installation: string,
    last?: { readonly run: string; readonly session: string } | null,
  ): Promise<StoreState>;
  /** On which server it is, where nothing else was put on record meanwhile. */
  recordSystem(system: string, instead: string): Promise<void>;
  /** The store has lost something, or may have: nothing is claimed until every host has announced what lives. */
  beginIncarnation(from: StoreState, hosts: readonly Host[]): Promise<void>;
  /** No epoch up to this one is given out again. */
  raiseEpochs(floor: number): Promise<void>;
  announce(forgotten: Forgotten): Promise<AnnounceResult>;
  /** This host has announced all that lives. */
  markAnnounced(host: Host): Promise<void>;
  /** Whether it has standbys none of which is waited for. */
  isCopiedLater(): Promise<boolean>;
  /** Asked before anything is done that has to be put on record afterwards, by whoever only looks. */
  mayWrite(): Promise<boolean>;
  /** Those with runs in the store, and whether each has announced what lives. */
  hosts(): Promise<readonly (Host & { readonly hasAnnounced: boolean })[]>;
  /** On a person's word: nothing of it lives. */
  forgetHost(id: string): Promise<void>;
  /** Decided by `takeStep` on the run as it is now, and written on the condition that it still is. */
  step(runId: string, step: Step): Promise<StepResult>;
  /** Accepts a write of the run that holds the token, only while it is its session's current, living run. */
  heartbeat(runId: string, token: string, isStillLeft?: LeftInSpool['isStillLeft']): Promise<FenceResult>;
  /** The same for what it hands in: accepted once, as `planSubmission` decides, or else put aside. */
  submit(submission: NewSubmission): Promise<SubmitResult>;
  /** The latest first. */
  submissions(query: SubmissionsQuery): Promise<readonly Submission[]>;
  /** By its id, or else by the beginning of one; at most a few. */
  findSubmissions(reference: string): Promise<readonly SubmissionWithData[]>;
  /** The same for what a run of a plain command says that it spent, once for each key. */
  addUsage(report: ReportedUsage): Promise<AddUsageResult>;
  /** The run, if this is its token, whether it is over or not. */
  heldBy(runId: string, token: string): Promise<Run | null>;
  /**
   * Takes what a harness said of itself, decided by `takeFact` on the run as it is now. `source` names the message: the
   * same one is taken once.
   */
  observe(runId: string, fact: HarnessFact, source: string): Promise<ObserveResult>;
  /** The session to which a conversation is bound. */
  sessionByNative(harness: string, nativeId: string): Promise<SessionWithRun | null>;
  /** The time by which the store puts events on record. */
  nowMs(): Promise<number>;
  /** Adds to the log what changed no state. With `once`, an event of this kind is kept at most once a run. */
  note(event: Omit<StoredEvent, 'seq' | 'atMs'>, once: 'once' | 'always'): Promise<void>;
  run(runId: string): Promise<Run | null>;
  sessionByName(name: string): Promise<SessionWithRun | null>;
  /** By session or run id, or else by name or native id, or else by a prefix of an id; at most a handful of matches. */
  find(reference: string): Promise<Found>;
  /** Those of these ids that there are. */
  sessionsOf(ids: readonly string[]): Promise<readonly SessionWithRun[]>;
  live(): Promise<readonly SessionWithRun[]>;
  /** Those of them that are a known harness's, and so have transcripts. */
  liveHarnesses(): Promise<readonly SessionWithRun[]>;
  /** At one instant: all live sessions, and so many of those that ended, the latest first. */
  overview(endedLimit: number): Promise<Overview>;
  runsOf(sessionId: string): Promise<readonly Run[]>;
  /** The runs that these runs started, of whatever session, the earliest first. */
  startedBy(runIds: readonly string[]): Promise<readonly SessionWithRun[]>;
  /** The same with what those started in turn, and so on; `live` leaves out those that are over, not what is below. */
  below(runIds: readonly string[], which: 'all' | 'live'): Promise<readonly SessionWithRun[]>;
  /** The run inside which this one was started, that one's, and so on: the nearest first. */
  ancestorsOf(runId: string): Promise<readonly string[]>;
  /** The live runs that have to be dealt with before this one can end. */
  undealtChildren(runId: string): Promise<readonly SessionWithRun[]>;
  /** Live runs that have waited in vain for a successor of their owner. */
  overdueChildren(): Promise<readonly SessionWithRun[]>;
  eventsOf(sessionId: string): Promise<readonly StoredEvent[]>;
  /** The latest event of the session that is of one of these kinds. */
  latestOf(sessionId: string, kinds: readonly string[]): Promise<StoredEvent | null>;
  /** From a number on, or the latest. Events become visible in the order of their numbers: none appears behind. */
  events(range: EventRange): Promise<readonly StoredEvent[]>;
  /** The number of the latest event; 0 when there is none. */
  lastSeq(): Promise<number>;
  count(counter: Counter): Promise<void>;
  figures(): Promise<Figures>;
  /** The conversations that are, or were, bound to these sessions, with the files of each that were read. */
  ledgersOf(sessionIds: readonly string[]): Promise<ReadonlyMap<string, readonly KnownConversation[]>>;
  /**
   * Puts on record what a reader found, each answer for the run that spent it as `spenderOf` decides, and how far it has
   * read: both, or nothing. An answer that is on record already only grows.
   */
  recordUsage(batch: UsageBatch): Promise<RecordedUsage>;
  /** How far each file of a session has been read. */
  usagePositions(sessionId: string): Promise<readonly (UsageFile & { position: UsagePosition })[]>;
  /** Sums, by name. */
  usageOf(query: UsageQuery): Promise<readonly UsageSum[]>;
  usageParts(query: UsageQuery): Promise<readonly UsagePart[]>;
  /** Of those of these sessions of which anything is known. */
  usageTotals(sessionIds: readonly string[]): Promise<ReadonlyMap<string, Tokens>>;
  /** The same of runs. */
  usageOfRuns(
    runs: readonly { readonly id: string; readonly sessionId: string }[],
  ): Promise<ReadonlyMap<string, Tokens>>;
  /**
   * Ended runs of harnesses that ended since, and whose usage was not read to the end after that; the earliest first.
   * Of these sessions, or of all.
   */
  unsettledRuns(
    sinceMs: number,
    limit: number,
    sessionIds?: readonly string[],
  ): Promise<readonly SessionWithRun[]>;
  /** Says that it was, and marks as late what was on record before its end was known. */
  settleUsage(runId: string): Promise<void>;
  /** The sessions for which a budget was set. */
  budgetedSessions(): Promise<readonly string[]>;
  setBudget(sessionId: string, budget: SessionBudget | null, actor: string): Promise<void>;
  /** These runs, also those that others came after. */
  runsWithSession(runIds: readonly string[]): Promise<readonly SessionWithRun[]>;
  budgetFacts(query: BudgetQuery): Promise<BudgetFacts>;
  /** Of these keys, those under which something was noted. */
  notedBudgets(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Adds the event unless something was noted under the same key; whether it did. */
  noteBudget(note: BudgetNote): Promise<boolean>;
  /**
   * Says of a live run what it is over and a person is asked for, or that there is nothing to ask any more; with the event,
   * if that was not so before.
   */
  setOverBudget(order: OverBudgetOrder): Promise<boolean>;
  recordAwake(runs: readonly AwakeRun[]): Promise<void>;
  /** The earliest first. */
  reviews(query: ReviewQuery): Promise<readonly ReviewRecord[]>;
  reviewTexts(id: string): Promise<ReviewTexts>;
  /** Whoever changes what becomes of a worker's reviews holds this meanwhile: one at a time, on all hosts. */
  takeReviewLock(request: ReviewLockRequest): Promise<ReviewLockResult>;
  releaseReviewLock(sessionId: string, token: string): Promise<void>;
  /** All of a trigger's plan, or nothing: false when the lock is somebody else's. */
  writeReviewPlan(plan: ReviewPlanWrite, durability?: Durability): Promise<boolean>;
  /** Each decided by `takeReviewStep` on the review as it is now; the ids of those that were taken. */
  stepReviews(
    steps: readonly ReviewStepOf[],
    actor: string,
    durability?: Durability,
  ): Promise<readonly string[]>;
  /** Accepts what the run that holds the token wrote, only while the review is running, current, and that run's. */
  submitReview(submission: ReviewSubmission): Promise<ReviewSubmitResult>;
  /** Calls soon after anything was written by anybody, perhaps also when nothing was; until the answer is called. */
  watch(listener: () => void): Promise<() => void>;
  /** False when a run of it is live. */
  removeSession(sessionId: string, actor: string): Promise<boolean>;
  /** Throws, with the reason, when not everything can be written that a start and an end write. Nothing of it stays. */
  tryWrite(): Promise<void>;
  close(): Promise<void>;
}
