import type { Member } from '../process/tree.ts';

export function describeMembers(members: readonly Member[]): string {
  if (members.length === 0) return 'something that cannot be caught';
  return members.map((member) => `${member.name} (pid ${member.pid})`).join(', ');
}
