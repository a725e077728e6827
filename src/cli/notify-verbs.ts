/** The verbs about notifications. */
import { JSON_FLAG } from './flag-values.ts';
import type { Verb } from './parse.ts';

const SESSION = { name: 'session', says: 'a name, an id, or a unique beginning of an id' } as const;
const notify = () => import('./commands/notify.ts');

export const NOTIFY_VERBS: readonly Verb[] = [
  {
    name: 'notify test',
    group: 'Notifications',
    says: 'send a test message through every way in config.toml, and say what became of each',
    arguments: [],
    flags: [JSON_FLAG],
    exits: [{ code: 1, when: 'one of them was not sent' }],
    execute: async ({ flags }) => (await notify()).notifyTest(flags),
  },
  {
    name: 'notify mute',
    group: 'Notifications',
    says: 'send no notifications of a session, for good or for a while',
    arguments: [SESSION],
    flags: [
      { name: 'for', value: 'SPAN', says: 'for how long, as in 30m, 2h or 7d', excludes: 'until' },
      { name: 'until', value: 'TIME', says: 'until when: 08:00, 2026-11-01 or 2026-11-01T08:00' },
      JSON_FLAG,
    ],
    execute: async ({ words: [session = ''], flags }) => (await notify()).notifyMute(session, flags),
  },
  {
    name: 'notify unmute',
    group: 'Notifications',
    says: 'end the mute of a session; what happened meanwhile is not told',
    arguments: [SESSION],
    flags: [JSON_FLAG],
    execute: async ({ words: [session = ''], flags }) => (await notify()).notifyUnmute(session, flags),
  },
];
