import { JSON_FLAG } from './flag-values.ts';
import type { Verb } from './parse.ts';

export const UNINSTALL: Verb = {
  name: 'uninstall',
  group: 'Reeve itself',
  says: 'remove hooks, shims, backups, the daemon and the tmux server; the state on request',
  arguments: [],
  flags: [
    { name: 'dry-run', says: 'only list what would be removed' },
    { name: 'state', says: 'also the state directory: sessions, events and logs' },
    { name: 'stop', says: 'stop the runs that are live first, instead of being refused' },
    JSON_FLAG,
  ],
  exits: [{ code: 1, when: 'something could not be removed' }],
  execute: async ({ flags }) => (await import('./commands/uninstall.ts')).uninstall(flags),
};
