/** The verbs by which runs report, and by which that is looked at. */
import { MAX_REPORTED_TOKENS } from '../lifecycle/usage.ts';
import { JSON_FLAG } from './flag-values.ts';
import { InvalidValue } from './parse.ts';
import type { Verb } from './parse.ts';

const SESSION = { name: 'session', says: 'a name, an id, or a unique beginning of an id' } as const;
const report = () => import('./commands/report.ts');

export const REPORT_VERBS: readonly Verb[] = [
  {
    name: 'submit',
    group: 'Reporting',
    says: 'from inside a run: hand in a text, once (only from the current run; a late one is kept aside)',
    arguments: [],
    flags: [
      { name: 'data', value: 'FILE', says: 'the text: a file, or - for standard input' },
      { name: 'key', value: 'KEY', says: 'what makes it the same when sent again (default: its content)' },
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await report()).submit(flags),
  },
  {
    name: 'submit ls',
    group: 'Reporting',
    says: 'what runs handed in, the latest first',
    arguments: [{ ...SESSION, optional: true }],
    flags: [{ name: 'refused', says: 'only what came too late and was kept aside' }, JSON_FLAG],
    execute: async ({ words: [session], flags }) => (await report()).submitLs(session, flags),
  },
  {
    name: 'submit show',
    group: 'Reporting',
    says: 'print what was handed in',
    arguments: [{ name: 'id', says: 'of the submission, or a unique beginning of it' }],
    flags: [JSON_FLAG],
    execute: async ({ words: [id = ''], flags }) => (await report()).submitShow(id, flags),
  },
  {
    name: 'usage add',
    group: 'Reporting',
    says: 'from inside a run of a plain command: report what it spent (only from the current run)',
    arguments: [],
    flags: [
      { name: 'model', value: 'MODEL', says: 'the model that was used' },
      { name: 'input', value: 'TOKENS', read: reportedTokens, says: 'tokens read, without those of a cache' },
      { name: 'output', value: 'TOKENS', read: reportedTokens, says: 'tokens written, reasoning included' },
      { name: 'cache-read', value: 'TOKENS', read: reportedTokens, says: 'tokens read from a cache' },
      { name: 'cache-write', value: 'TOKENS', read: reportedTokens, says: 'tokens written to a cache' },
      {
        name: 'reasoning',
        value: 'TOKENS',
        read: reportedTokens,
        says: 'reasoning tokens, part of the output',
      },
      {
        name: 'key',
        value: 'KEY',
        says: 'what makes it the same when sent again (without: every call counts)',
      },
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await report()).usageAdd(flags),
  },
];

function reportedTokens(text: string): number {
  if (/^\d{1,13}$/.test(text) && Number(text) <= MAX_REPORTED_TOKENS) return Number(text);
  throw new InvalidValue(`it takes a whole number, from 0 to ${MAX_REPORTED_TOKENS}`);
}
