/** The shape of a session on every way out: `--json`, and later HTTP and MCP. Times are ISO 8601. */
import type { Outcome, RunMode } from '../lifecycle/run.ts';
import type { Status } from '../lifecycle/status.ts';

export interface RunView {
  readonly id: string;
  readonly epoch: number;
  readonly state: 'claimed' | 'running' | 'ended';
  readonly mode: RunMode;
  readonly outcome: Outcome | null;
  /** The harness's own process; null until it executes. */
  readonly pid: number | null;
  readonly keeperPid: number | null;
  readonly host: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
  readonly liveness: 'alive' | 'dead' | 'unknown';
  readonly containment: string | null;
  readonly logPath: string | null;
}

export interface SessionView {
  readonly name: string;
  readonly id: string;
  readonly harness: string;
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly status: Status;
  readonly epoch: number;
  readonly run: RunView;
}
