/** The verbs about the daemon and its page. */
import { JSON_FLAG } from './flag-values.ts';
import { InvalidValue } from './parse.ts';
import type { Verb } from './parse.ts';

export const DAEMON_VERBS: readonly Verb[] = [
  {
    name: 'serve',
    group: 'The daemon',
    says: 'run the background daemon: HTTP API, web page, notifications; it is optional',
    arguments: [
      {
        name: 'action',
        says: 'stop or status; without it, serve',
        choices: ['stop', 'status'],
        optional: true,
      },
    ],
    flags: [
      { name: 'detach', short: 'd', says: 'in the background; returns once it answers' },
      { name: 'replace', says: 'in the place of the one that is there; runs are not touched' },
      {
        name: 'port',
        value: 'NUMBER',
        read: port,
        says: 'of the loopback (default: any, then always the same)',
      },
      JSON_FLAG,
    ],
    execute: async ({ words: [action], flags }) => (await import('./commands/serve.ts')).serve(action, flags),
  },
  {
    name: 'open',
    group: 'The daemon',
    says: 'open the page in the browser, and sign it in',
    arguments: [],
    flags: [
      { name: 'print', says: 'only print a link that works once, and a code' },
      { name: 'sign-out', says: 'sign out every browser', excludes: 'print' },
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await import('./commands/open.ts')).open(flags),
  },
];

function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidValue('it takes a port, from 0 to 65535');
}
