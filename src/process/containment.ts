/** Which rung of the containment ladder can be had here, best first. */
import type { Containment } from '../lifecycle/run.ts';
import { createCgroup, removeCgroup } from './cgroup.ts';

/** System call numbers by processor, as the keeper needs them; 0 is "not here". */
export interface SystemCalls {
  readonly prctl: number;
  readonly madvise: number;
  readonly fsync: number;
  readonly prlimit: number;
}

const LINUX_CALLS: Readonly<Record<string, SystemCalls>> = {
  x64: { prctl: 157, madvise: 28, fsync: 74, prlimit: 302 },
  arm64: { prctl: 167, madvise: 233, fsync: 82, prlimit: 261 },
  riscv64: { prctl: 167, madvise: 233, fsync: 82, prlimit: 261 },
};
const NO_CALLS: SystemCalls = { prctl: 0, madvise: 0, fsync: 0, prlimit: 0 };

export function systemCalls(containment: Containment): SystemCalls {
  const known = (process.platform === 'linux' ? LINUX_CALLS[process.arch] : undefined) ?? NO_CALLS;
  return containment.by === 'marks' ? { ...known, prctl: 0 } : known;
}

/** `atMost` lets tests, and people with reasons, do without the better rungs. */
export function chooseContainment(runId: string, atMost: Containment['by'] = 'cgroup'): Containment {
  if (process.platform !== 'linux' || LINUX_CALLS[process.arch] === undefined || atMost === 'marks') {
    return { by: 'marks' };
  }
  if (atMost === 'subreaper') return { by: 'subreaper' };
  const path = createCgroup(runId);
  return path === null ? { by: 'subreaper' } : { by: 'cgroup', path };
}

/** For `doctor`: tries it with a throw-away name. */
export function bestContainment(): Containment['by'] {
  const tried = chooseContainment(`doctor-${process.pid}`);
  if (tried.by === 'cgroup') removeCgroup(tried.path);
  return tried.by;
}
