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

/**
 * Begins a boot id that is not the kernel's: some containers (systemd-nspawn, LXC) mount one of their own over it. That it
 * differs says nothing of a restart, from either side.
 */
export const CONTAINER_BOOT = 'container:';

type Boot = Pick<ProcessIdentity, 'boot'>;

/** False only where the kernel says so: one of them is of before a restart, or of another machine. */
export function mayBeOneBoot(one: Boot, other: Boot): boolean {
  return one.boot === other.boot || [one, other].some(({ boot }) => boot.startsWith(CONTAINER_BOOT));
}

/** Whether a pid and a start time mean the same process here and there. */
export function sharePids(
  one: Boot & Pick<ProcessIdentity, 'pidNamespace'>,
  other: Boot & Pick<ProcessIdentity, 'pidNamespace'>,
): boolean {
  return one.pidNamespace === other.pidNamespace && mayBeOneBoot(one, other);
}

/** How a death was proven. `rebooted` needs no look at a process table, so a broken probe cannot fake it. */
export type DeathProof = 'gone' | 'reused' | 'zombie' | 'namespace' | 'rebooted';

/** Three values on purpose: a failed look is `unknown`, never `dead`. */
export type Liveness =
  | { readonly is: 'alive'; readonly isStopped?: true }
  | { readonly is: 'dead'; readonly proof: DeathProof; readonly because: string }
  | { readonly is: 'unknown'; readonly because: string };
