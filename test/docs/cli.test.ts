/** docs/cli.md against the table of verbs: what is written down is tried on the parser itself, and nothing is missing. */
import { describe, expect, it } from 'vitest';
import { HELP_FLAGS, parse, VERSION_FLAGS } from '../../src/cli/parse.ts';
import type { Verb } from '../../src/cli/parse.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { codeIn, PAGES, pageFrom, readPage, rowsOf } from './page.ts';
import type { Page } from './page.ts';
import { commandLines } from './synopsis.ts';

/** Takes placeholders too: SECONDS where a number is wanted, WHAT where there is a choice. */
const VERBS_ON_PAPER: readonly Verb[] = VERBS.map((verb) => ({
  ...verb,
  flags: verb.flags.map((flag) => ({
    ...flag,
    read: (text: string) => text,
    ...(flag.choices === undefined ? {} : { choices: [...flag.choices, flag.value ?? ''] }),
  })),
  arguments: verb.arguments.map(({ choices, ...argument }) =>
    choices === undefined ? argument : { ...argument, choices: [...choices, argument.name.toUpperCase()] },
  ),
}));
const MENTIONED = VERBS_ON_PAPER.map((verb) => ({
  ...verb,
  arguments: verb.arguments.map((argument) => ({ ...argument, optional: true })),
}));

interface Documented {
  readonly verb: Verb | null;
  /** Behind `reeve`. */
  readonly words: readonly string[];
  /** With what is said of it. */
  readonly text: string;
  /** What the command would say, when it would refuse this. */
  readonly problem: string | null;
}

/** What the page defines: in headings, and in the first cells of tables. */
function definitions(page: Page): Documented[] {
  const isWritten = (text: string) => text.startsWith('reeve ');
  const headings = page.spans.filter(({ text, place }) => place === 'heading' && isWritten(text));
  const rows = page.tables.flatMap(({ rows: all }) =>
    all.flatMap((cells) =>
      codeIn(cells[0] ?? '')
        .filter(isWritten)
        .map((text) => ({ text, cells })),
    ),
  );
  const synopses = [
    ...headings.map(({ text }) => ({ synopsis: text, text })),
    ...rows.map(({ text, cells }) => ({ synopsis: text, text: cells.join(' ') })),
  ];
  return [
    ...synopses.flatMap(({ synopsis, text }) =>
      commandLines(synopsis.replace(' [flags]', '').replace(/\bVERB\b/, 'ls')).map((words) => ({
        ...tried(VERBS_ON_PAPER, words.slice(1)),
        text,
      })),
    ),
    ...flagRows(page),
  ];
}

/** Of the tables of flags, whose head names their verbs: a row is tried with each of them. */
function flagRows({ tables }: Page): Documented[] {
  return tables
    .filter(({ head }) => head[0]?.startsWith('flag of ') === true)
    .flatMap(({ head, rows }) =>
      codeIn(head[0] ?? '').flatMap((name) =>
        rows.flatMap((cells) => {
          const verb = VERBS.find((each) => each.name === name);
          // All of them, so that a value which a flag does not take is one too many.
          const given =
            verb?.arguments.map(({ name: word, choices }) => choices?.[0] ?? word.toUpperCase()) ?? [];
          const command = verb?.takesCommand === true ? ['-- COMMAND'] : [];
          const flags = codeIn(cells[0] ?? '').map((flag) => flag.replaceAll(', ', '|'));
          return flags.flatMap((flag) =>
            commandLines([name, ...given, flag, ...command].join(' ')).map((line) => ({
              ...tried(VERBS_ON_PAPER, line),
              text: cells.join(' '),
            })),
          );
        }),
      ),
    );
}

function tried(verbs: readonly Verb[], words: readonly string[]): Omit<Documented, 'text'> {
  const line = `\`reeve ${words.join(' ')}\``;
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(verbs, words);
  } catch (error) {
    return { verb: null, words, problem: `${line}: ${String(error)}` };
  }
  if (parsed.is !== 'call') return { verb: null, words, problem: null };
  const { verb, call } = parsed;
  const isStray = verb.takesCommand === true && call.command.includes('--');
  const isTaken = Object.values(call.flags)
    .flat()
    .some((value) => String(value).startsWith('--'));
  const problem =
    isTaken || Object.keys(call.flags).length !== flagsIn(words).length
      ? `${line}: a flag of it takes a value, or takes none`
      : isStray
        ? `${line}: ${call.command[0]} would be the command`
        : null;
  return { verb, words, problem };
}

function flagsIn(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const own = (end === -1 ? words : words.slice(0, end)).filter((word) => /^--?\w/.test(word));
  return [...new Set(own.map((word) => word.split('=')[0] ?? word))];
}

/** What there is to be documented of a verb. Every verb takes --json; that is said once. */
function partsOf({ flags, arguments: words }: Verb): string[] {
  return [
    ...flags
      .filter(({ name }) => name !== 'json')
      .flatMap(({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]),
    ...words.filter(({ choices }) => choices === undefined).map(({ name }) => name.toUpperCase()),
  ];
}

function refused(page: Page): string[] {
  return definitions(page).flatMap(({ problem }) => problem ?? []);
}

function undocumented(page: Page): string[] {
  const all = definitions(page);
  return VERBS.flatMap((verb) => {
    const of = all.filter((each) => each.verb?.name === verb.name);
    const given = new Set(of.flatMap(({ words }) => words));
    if (of.length === 0) return [verb.name];
    const missing = partsOf(verb).filter((part) => !given.has(part));
    const lacking = (texts: readonly Documented[], choices: readonly string[] = []) => {
      const said = new Set(
        texts
          .map(({ text }) => text)
          .join(' ')
          .match(/[\w-]+/g),
      );
      return choices.filter((choice) => !said.has(choice));
    };
    const choices = [
      ...verb.flags.flatMap(({ name, choices: some }) =>
        lacking(
          of.filter(({ words }) => words.includes(`--${name}`)),
          some,
        ).map((choice) => `--${name} ${choice}`),
      ),
      ...verb.arguments.flatMap(({ choices: some }) => lacking(of, some)),
    ];
    return [...missing, ...choices].map((part) => `${verb.name} ${part}`);
  });
}

describe('docs/cli.md', () => {
  const page = readPage('docs/cli.md');

  it('documents every verb, argument, flag, short flag and choice', () => {
    expect(undocumented(page)).toEqual([]);
  });

  it('documents nothing that the command would refuse', () => {
    expect(refused(page)).toEqual([]);
  });

  it('documents what stands in the place of a verb', () => {
    const given = new Set(definitions(page).flatMap(({ verb, words }) => (verb === null ? words : [])));
    expect([...VERSION_FLAGS, ...HELP_FLAGS, 'help'].filter((word) => !given.has(word))).toEqual([]);
  });

  it('documents the exit codes of each verb that are no errors', () => {
    const documented = rowsOf(page, 'exit of').flatMap(([verbs = '', code]) =>
      codeIn(verbs).map((verb) => `${verb} ${code}`),
    );
    const known = VERBS.flatMap(({ name, exits = [] }) =>
      exits.map(({ code, action }) => `${name}${action === undefined ? '' : ` ${action}`} ${code}`),
    );
    expect(documented.toSorted()).toEqual(known.toSorted());
  });

  it('is right that every verb takes --json', () => {
    expect(VERBS.filter(({ flags }) => !flags.some(({ name }) => name === 'json'))).toEqual([]);
  });
});

/** What is said in passing: `reeve stop`, `kill --assume-gone`, `--on-live retire`. */
function wrongMentions(page: Page): string[] {
  const names = VERBS.map(({ name }) => name);
  const isVerb = (text: string) => names.some((name) => text.startsWith(`${name} `));
  const known = new Set([
    ...VERBS.flatMap(({ flags }) => flags.flatMap(({ name, short }) => [`--${name}`, `-${short}`])),
    ...VERSION_FLAGS,
    ...HELP_FLAGS,
  ]);
  return page.spans.flatMap(({ text }) => {
    const spoken = text.replace(' [flags]', '').replace(/\bVERB\b/, 'ls');
    if (text.startsWith('-')) return flagsIn(text.split(/[\s,|]+/)).filter((flag) => !known.has(flag));
    if (!text.startsWith('reeve ') && !isVerb(text)) return [];
    const lines = commandLines(spoken).map((line) => (line[0] === 'reeve' ? line.slice(1) : line));
    return lines.flatMap((line) => tried(MENTIONED, line).problem ?? []);
  });
}

describe.each(PAGES)('%s', (name) => {
  it('mentions no verb and no flag that there is not', () => {
    expect(wrongMentions(readPage(name))).toEqual([]);
  });
});

describe('a page that is wrong is found out', () => {
  const { text } = readPage('docs/cli.md');
  const changed = (from: string | RegExp, to: string) => {
    const page = text.replace(from, to);
    expect(page).not.toBe(text);
    return pageFrom('changed', page);
  };

  it.each([
    ['a verb', /^\| `reeve heartbeat`.*\n/m, '', 'heartbeat'],
    ['a long flag', String.raw`-f\|--follow`, '-f', 'logs --follow'],
    ['a short flag', String.raw`-f\|--follow`, '--follow', 'logs -f'],
    ['an argument', '`reeve submit show ID`', '`reeve submit show WHICH`', 'submit show ID'],
    ['a choice', 'refuse\\|attach\\|retire', 'refuse\\|attach', 'run --on-live retire'],
  ])('by what it lacks: %s', (_, from, to, missing) => {
    expect(undocumented(changed(from, to))).toContain(missing);
  });

  it.each([
    ['a verb', '`reeve heartbeat`', '`reeve heartbeats`'],
    ['a flag', String.raw`-f\|--follow`, String.raw`-f\|--follow\|--tail`],
    ['a short flag', String.raw`-f\|--follow`, String.raw`-f\|-F\|--follow`],
    ['a flag in a table', '`--cwd DIR`', '`--chdir DIR`'],
    ['a value that a flag does not take', '`-d, --detach`', '`-d, --detach WHEN`'],
    ['no value where there is one', '`--cwd DIR`', '`--cwd`'],
    ['an argument', '`reeve paths`', '`reeve paths PLACE`'],
    ['a choice', 'refuse\\|attach\\|retire', 'refuse\\|attach\\|retire\\|ask'],
  ])('by what there is not: %s', (_, from, to) => {
    expect(refused(changed(from, to))).not.toEqual([]);
  });

  it.each([
    '`reeve halt web`',
    '`reeve stop --now web`',
    '`kill --now`',
    '`--every`',
    '`review ls --of web`',
  ])('by what it mentions: %s', (mention) => {
    expect(wrongMentions(pageFrom('changed', `Say ${mention} here.`))).toHaveLength(1);
  });
});
