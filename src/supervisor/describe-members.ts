import type { Member } from '../process/tree.ts';

export function describeMembers(members: readonly Member[]): string {
  return members.map((member) => `${member.name} (pid ${member.pid})`).join(', ');
}

/** Who could not be ended, or, where nobody is seen, why the run counts as alive all the same. */
export interface Survivors {
  readonly survivors: readonly Member[];
  readonly because?: string;
}

/** A clause without a full stop. */
export function describeSurvivors({ survivors, because }: Survivors): string {
  if (survivors.length > 0) return `processes of it are alive after SIGKILL: ${describeMembers(survivors)}`;
  return because === undefined
    ? 'it was killed, but the kernel still counts processes in its group; none could be named'
    : `it was killed, but its end cannot be proven: ${because}`;
}
