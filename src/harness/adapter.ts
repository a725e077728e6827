/**
 * What Reeve needs to know of a harness. One adapter a harness; one contract suite runs on all of them.
 * Adapters read command lines, files and payloads. They start, signal and write nothing.
 */
import type { Activity, FactKind } from '../lifecycle/harness-fact.ts';
import type { UsageReader } from './usage.ts';

export type HarnessName = 'claude' | 'codex' | 'gemini' | 'opencode' | 'code' | 'command';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a harness runs, or ran: its environment says where it keeps its files. */
export interface Place {
  readonly environment: Environment;
  readonly cwd: string;
}

/** Which conversation a command line asks for. */
type Asked =
  /** A new one; with an id where the caller chose it. */
  | { readonly is: 'new'; readonly nativeId: string | null }
  | { readonly is: 'resume'; readonly nativeId: string }
  /** The latest of this directory, or of another one that it names. */
  | { readonly is: 'latest'; readonly directory?: string }
  /** One that exists, called by something else than its id: a title, a file, a number in a list. */
  | { readonly is: 'named'; readonly reference: string }
  /** One that is only known once the harness runs: chosen from a list, or forked. */
  | { readonly is: 'open' }
  /** None: the command manages or prints something. */
  | { readonly is: 'none' };

export interface Invocation {
  readonly asked: Asked;
  readonly isInteractive: boolean;
  /** It manages or prints something and ends, so that nothing of it needs an owner. See administration.ts. */
  readonly isAdministration?: boolean;
}

/** A conversation as the harness's own files have it. */
export interface Conversation {
  readonly nativeId: string;
  /** Where it took place; null where the files do not say. */
  readonly cwd: string | null;
  /** The transcript, or the database that holds it. */
  readonly path: string;
  readonly updatedAtMs: number;
}

/** A live process, as far as one wants to look at it. */
export interface LiveProcess {
  readonly pid: number;
  readonly startTime: string;
  readonly name: string;
  readonly argv: readonly string[];
  readonly cwd: string | null;
  environment(): Environment;
  openFiles(): readonly string[];
}

/** The conversation that a live process serves; `nativeId` is null when it serves one that cannot be told. */
export interface Served {
  readonly nativeId: string | null;
  readonly evidence: string;
}

/** What a start adds to the command line and the environment so that the harness reports to Reeve. */
export interface Reporting {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Files that the harness reads, by name in the run's own directory. */
  readonly files: Readonly<Record<string, string>>;
  /** Whether it will report; without, only what was installed for all sessions does. */
  readonly hasHooks: boolean;
}

export interface ReportingOrder {
  /** The command line of the harness, program first. */
  readonly argv: readonly string[];
  /** The program that hands payloads over, and the run's directory. */
  readonly hookProgram: string;
  readonly runDirectory: string;
  readonly place: Place;
}

/** What a hook's payload says, less what only the reader of the message knows. */
export interface Reported {
  readonly fact: FactKind;
  readonly nativeId: string | null;
}

/** What the terminal of a harness shows of what it does. */
export type PaneReading = Pick<Activity, 'is' | 'evidence' | 'waitingFor'>;

export interface Adapter {
  readonly name: HarnessName;
  /** How a person gets it. */
  readonly install: string;
  /** The beginning of a command line that does one thing and ends. */
  readonly headless: readonly string[];
  readInvocation(argv: readonly string[]): Invocation;
  /** The same command line with the new conversation's id chosen; null when the harness chooses it itself. */
  withNewId(argv: readonly string[], nativeId: string): readonly string[] | null;
  /** The same command line for the latest conversation, which it only asked for as such, by its id. */
  withLatest(argv: readonly string[], nativeId: string): readonly string[];
  /** A command line that asked for a new conversation, for this one instead. */
  withResume(argv: readonly string[], nativeId: string): readonly string[];
  /** A command line that goes on with a conversation, in the manner of an earlier one. */
  resumeArgv(argv: readonly string[], nativeId: string, prompt: string | null): readonly string[];
  /** Conversations whose id is this, or begins with it, the latest first. */
  findConversations(place: Place, reference: string): readonly Conversation[];
  latestConversation(place: Place): Conversation | null;
  /** The ids of those that it may mean by this. Missing where nobody but the harness can tell. */
  readonly conversationsCalled?: (place: Place, reference: string) => readonly string[];
  /** How it likes to be asked to end: with what it does then, a turn is recorded as broken off. */
  stopSignal(argv: readonly string[]): 'SIGTERM' | 'SIGINT';
  /** The program to start instead of a wrapper that would orphan it; the same path when there is none. */
  nativeProgram(path: string): string;
  /** Null where the harness has no channel of its own: then files and processes must tell. */
  reporting(order: ReportingOrder): Reporting | null;
  /** Null for a payload that says nothing that matters here. */
  readReport(payload: Readonly<Record<string, unknown>>): Reported | null;
  /** What the title or screen of its terminal says; null when they say nothing certain. */
  readPane(title: string, screen: string): PaneReading | null;
  /** Null when the process is not this harness. */
  serves(process: LiveProcess): Served | null;
  /** `NAME=value` in the environment of what this process starts, and of nothing else. */
  marks(process: { readonly pid: number; readonly nativeId: string | null }): readonly string[];
  /** What the harness itself keeps on record about what this process does right now, where it does. */
  ownRecord(process: LiveProcess, nativeId: string | null): Activity | null;
  /** Reads what conversations cost; loaded by whoever keeps the ledger. Missing where nothing tells it. */
  readonly usage?: () => Promise<UsageReader>;
}
