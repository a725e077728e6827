import { JSON_FLAG } from './flag-values.ts';
import type { Verb } from './parse.ts';

export const SETTLE: Verb = {
  name: 'settle',
  group: 'Ending',
  says: 'check runs in doubt again, end what is left of them, and record the result',
  arguments: [
    { name: 'session', says: 'a name, an id, or a unique beginning of an id', many: true, optional: true },
  ],
  flags: [
    {
      name: 'host-gone',
      value: 'HOST',
      says: 'on your word: this host, which shares the store, is gone and has no run that lives',
    },
    JSON_FLAG,
  ],
  exits: [{ code: 7, when: 'a run is still in doubt' }],
  execute: async ({ words, flags }) => (await import('./commands/settle.ts')).settle(words, flags),
};
