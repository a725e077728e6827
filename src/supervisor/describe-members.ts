import type { Member } from '../process/tree.ts';

export function describeMembers(members: readonly Member[]): string {
  return members.map((member) => `${member.name} (pid ${member.pid})`).join(', ');
}

/** Who could not be ended, or, where nobody is seen, why the run counts as alive all the same. */
export interface Survivors {
  readonly survivors: readonly Member[];
  readonly because?: string;
  /** Those of them whom no signal reached, for this user may not signal them. */
  readonly unsignalled?: readonly Member[];
}

/** A clause without a full stop. */
export function describeSurvivors({ survivors, because, unsignalled }: Survivors): string {
  const [untold, killed] = apart(survivors, unsignalled);
  const clauses = [
    ...(killed.length === 0 ? [] : [`processes of it are alive after SIGKILL: ${describeMembers(killed)}`]),
    ...(untold.length === 0
      ? []
      : [`processes of it are alive that this user may not signal: ${describeMembers(untold)}`]),
  ];
  if (clauses.length > 0) return clauses.join('; ');
  return because === undefined
    ? 'it was killed, but the kernel still counts processes in its group; none could be named'
    : `nothing of it was seen to survive, but its end cannot be proven: ${because}`;
}

/** As the end of a tree tells it. */
interface Swept extends Pick<Survivors, 'unsignalled'> {
  readonly found: readonly Member[];
  readonly killed: readonly Member[];
}

/** As evidence: what a run had left behind and is gone now. Only whom a signal reached was ended by anybody here. */
export function describeSwept({ found, killed, unsignalled }: Swept): string[] {
  const [untold, ended] = apart(found, unsignalled);
  const bySigkill = killed.length === 0 ? '' : `, ${killed.length} of them by SIGKILL`;
  return [
    ...(ended.length === 0 ? [] : [`left behind and ended: ${describeMembers(ended)}${bySigkill}`]),
    ...notSignalled(untold),
  ];
}

/** The same of a run that was told to end. */
export function describeTold({ found, killed, unsignalled }: Swept): string[] {
  const [untold, told] = apart(found, unsignalled);
  if (found.length === 0) return ['nothing of it was executing'];
  const bySigkill = killed.length === 0 ? '' : `; killed with SIGKILL: ${describeMembers(killed)}`;
  return [
    ...(told.length === 0 ? [] : [`told to end: ${describeMembers(told)}${bySigkill}`]),
    ...notSignalled(untold),
  ];
}

function notSignalled(members: readonly Member[]): string[] {
  return members.length === 0
    ? []
    : [`ended without a signal, which this user may not send them: ${describeMembers(members)}`];
}

function apart(
  members: readonly Member[],
  unsignalled: readonly Member[] = [],
): [untold: readonly Member[], told: readonly Member[]] {
  const isUntold = ({ pid, startTime }: Member) =>
    unsignalled.some((each) => each.pid === pid && each.startTime === startTime);
  return [members.filter(isUntold), members.filter((member) => !isUntold(member))];
}
