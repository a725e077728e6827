/** The shape of a session on every way out: `--json`, and later HTTP and MCP. Times are ISO 8601. */
import type { OnParentEnd } from '../lifecycle/child.ts';
import type { Proof } from '../lifecycle/proof.ts';
import type { Outcome, RunMode } from '../lifecycle/run.ts';
import type { Status } from '../lifecycle/status.ts';

export interface RunView {
  readonly id: string;
  readonly epoch: number;
  readonly state: 'claimed' | 'running' | 'ended';
  readonly mode: RunMode;
  readonly outcome: Outcome | null;
  /** Who started it. */
  readonly actor: string;
  /** The harness's own process; null until it executes. */
  readonly pid: number | null;
  readonly keeperPid: number | null;
  readonly host: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** How its end is known: `kernel` is proven. Null until it has ended, and for ends of before this was kept. */
  readonly proof: Proof | null;
  readonly reason: string | null;
  readonly liveness: 'alive' | 'dead' | 'unknown';
  readonly containment: string | null;
  readonly logPath: string | null;
  /** The run inside which it was started; null when it was started by nobody but a person or a program. */
  readonly parent: string | null;
  /** The run with whose end it is dealt with: its parent, or who took it over from that; null when there is none. */
  readonly owner: string | null;
  /** What becomes of it when that one ends; null when it is nobody's child. */
  readonly onParentEnd: OnParentEnd | null;
}

/** A run that was started inside another one. */
export interface ChildView {
  readonly session: string;
  readonly sessionId: string;
  /** The run inside which it was started. */
  readonly parent: string;
  /** The run with whose end it is dealt with; null once it was let go. */
  readonly owner: string | null;
  readonly onParentEnd: OnParentEnd;
  readonly subject: string | null;
  readonly revision: string | null;
  /** Until when it waits for a successor of its owner, while it does. */
  readonly waitsUntil: string | null;
  readonly argv: readonly string[];
  /** What it has spent by itself, cached input included; null when nothing is known. */
  readonly tokens: number | null;
  readonly run: RunView;
}

export interface SessionView {
  readonly name: string;
  readonly id: string;
  readonly harness: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  /** The conversation in the harness's own words; null for a plain command, and until the harness has said it. */
  readonly nativeId: string | null;
  readonly status: Status;
  /** On what the status of a living session rests; null when its harness says nothing. */
  readonly activity: {
    readonly since: string;
    readonly evidence: string;
    readonly waitingFor: string | null;
  } | null;
  readonly epoch: number;
  readonly run: RunView;
}

/** What became of runs of which nothing could be proven. */
export interface SettleView {
  readonly settled: readonly {
    readonly session: string;
    readonly run: string;
    readonly outcome: string;
    readonly reason: string;
    readonly evidence: readonly string[];
  }[];
  readonly remaining: readonly {
    readonly session: string;
    readonly run: string;
    /** The end of a sentence. */
    readonly because: string;
    /** A command for whoever knows better. */
    readonly next: string;
  }[];
}
