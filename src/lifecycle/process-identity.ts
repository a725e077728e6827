/**
 * Who a process is. A pid alone proves nothing: it is reused within a boot, repeats after the next, and means
 * something else in another pid namespace or on another host. All five together name one process for ever.
 */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly pid: number;
  /** As the operating system tells it, compared only for equality. Null: it could not be read when recorded. */
  readonly startTime: string | null;
}

/** How a death was proven. `rebooted` needs no look at a process table, so a broken probe cannot fake it. */
export type DeathProof = 'gone' | 'reused' | 'zombie' | 'namespace' | 'rebooted';

/** Three values on purpose: a failed look is `unknown`, never `dead`. */
export type Liveness =
  | { readonly is: 'alive'; readonly isStopped?: true }
  | { readonly is: 'dead'; readonly proof: DeathProof; readonly because: string }
  | { readonly is: 'unknown'; readonly because: string };
