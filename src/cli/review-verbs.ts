/** The verbs about reviews. */
import { directory, JSON_FLAG, seconds } from './flag-values.ts';
import type { Verb } from './parse.ts';

const review = () => import('./commands/review.ts');

const WORKER = {
  name: 'worker',
  short: 'w',
  value: 'SESSION',
  says: 'the session whose work is reviewed',
} as const;

const HOW = [
  {
    name: 'reviewer',
    value: 'COMMAND',
    says: 'the program that reviews, with its arguments, as one word (default: config.toml)',
    excludes: 'harness',
  },
  {
    name: 'harness',
    value: 'NAME',
    choices: ['claude', 'codex', 'gemini', 'opencode', 'code'],
    says: 'or a harness, which is told what to do',
  },
  { name: 'cwd', value: 'DIR', read: directory, says: 'where it runs (default: where the worker does)' },
  {
    name: 'grace',
    value: 'SECONDS',
    read: seconds,
    says: 'between asking an outdated reviewer to end and killing it (10)',
  },
] as const;

const ASSUME_GONE = {
  name: 'assume-gone',
  says: 'on your word: another trigger that holds these reviews on a host you cannot see is gone',
} as const;

export const REVIEW_VERBS: readonly Verb[] = [
  {
    name: 'review trigger',
    group: 'Reviews',
    says: 'ask for reviews of these commits; outdated reviews are ended, finished ones are not repeated',
    arguments: [],
    flags: [
      WORKER,
      { name: 'pr', value: 'KEY=HEADSHA', many: true, says: 'a pull request and its head; may be repeated' },
      ...HOW,
      {
        name: 'repo',
        value: 'DIR',
        read: directory,
        says: 'where the heads are found (default: where the worker runs)',
      },
      { name: 'again', says: 'review again even if already reviewed' },
      ASSUME_GONE,
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await review()).trigger(flags),
  },
  {
    name: 'review ls',
    group: 'Reviews',
    says: 'list the review state of each pull request',
    arguments: [],
    flags: [WORKER, { name: 'all', short: 'a', says: 'every review there ever was' }, JSON_FLAG],
    execute: async ({ flags }) => (await review()).ls(flags),
  },
  {
    name: 'review show',
    group: 'Reviews',
    says: 'one review, with what its reviewer wrote',
    arguments: [{ name: 'review', says: 'its id, or a unique beginning of it' }],
    flags: [JSON_FLAG],
    execute: async ({ words: [id = ''], flags }) => (await review()).show(id, flags),
  },
  {
    name: 'review submit',
    group: 'Reviews',
    says: 'from inside a reviewer: what it found (only from the current run)',
    arguments: [],
    flags: [
      { name: 'run', value: 'REVIEW', says: 'the id of the review, as the reviewer’s queue has it' },
      {
        name: 'verdict',
        value: 'WHAT',
        choices: ['approve', 'changes', 'comment'],
        says: 'approve, changes or comment',
      },
      { name: 'body', value: 'FILE', says: 'what it wrote, or - to read it from standard input' },
      JSON_FLAG,
    ],
    execute: async ({ flags }) => (await review()).submit(flags),
  },
  {
    name: 'review cancel',
    group: 'Reviews',
    says: 'cancel reviews; a reviewer that is no longer needed is ended first',
    arguments: [{ name: 'review', says: 'its id, or a unique beginning of it', optional: true }],
    flags: [
      WORKER,
      { name: 'pr', value: 'KEY', says: 'with --worker: only this pull request’s' },
      { name: 'grace', value: 'SECONDS', read: seconds, says: 'before the reviewer is killed (10)' },
      ASSUME_GONE,
      JSON_FLAG,
    ],
    execute: async ({ words: [id], flags }) => (await review()).cancel(id, flags),
  },
  {
    name: 'review watch',
    group: 'Reviews',
    says: 'review a branch each time its head moves and then stays unchanged, until Ctrl-C',
    arguments: [],
    flags: [
      WORKER,
      { name: 'repo', value: 'DIR', read: directory, says: 'the repository (default: this directory)' },
      {
        name: 'branch',
        value: 'NAME[=KEY]',
        many: true,
        says: 'a branch, and its pull request’s key (default: the branch); may be repeated',
      },
      ...HOW,
      { name: 'debounce', value: 'SECONDS', read: seconds, says: 'how long a head must stay the same (5)' },
      { name: 'json', says: 'one JSON value a line on stdout' },
    ],
    execute: async ({ flags }) => (await review()).watch(flags),
  },
];
