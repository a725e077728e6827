import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { parse } from '../../src/cli/parse.ts';
import type { Verb } from '../../src/cli/parse.ts';
import { VERBS } from '../../src/cli/verbs.ts';

/** What a call would be executed with, or the code and hint of the refusal. */
function outcome(...args: readonly string[]): unknown {
  try {
    const parsed = parse(VERBS, args);
    return parsed.is === 'call' ? { verb: parsed.verb.name, ...parsed.call } : { is: parsed.is };
  } catch (error) {
    if (error instanceof ReeveError) return { code: error.code, hint: error.hint };
    throw error;
  }
}

describe('the words of a call', () => {
  it.each([
    [['run', '--', 'claude', '--json'], { words: [], command: ['claude', '--json'], flags: {} }],
    [
      ['run', 'claude', '-s', 'x', '--', 'y'],
      { words: [], command: ['claude', '-s', 'x', '--', 'y'], flags: {} },
    ],
    [
      ['run', '-s', 'a', '-d', '--', 'x'],
      { words: [], command: ['x'], flags: { session: 'a', detach: true } },
    ],
    [['run', '--session=a=b', 'x'], { words: [], command: ['x'], flags: { session: 'a=b' } }],
    [
      ['run', '--on-live', 'retire', '--grace', '0.5', 'x'],
      { words: [], command: ['x'], flags: { onLive: 'retire', grace: 0.5 } },
    ],
    [['resume', 'a', '--detach', '--', 'x'], { words: ['a'], command: ['x'], flags: { detach: true } }],
    [
      ['resume', '--detach', 'a', 'x', '--y'],
      { words: ['a'], command: ['x', '--y'], flags: { detach: true } },
    ],
    [['resume', 'a'], { words: ['a'], command: [], flags: {} }],
    [['rm', 'a', '--json', 'b'], { words: ['a', 'b'], command: [], flags: { json: true } }],
    [['show', '--', '-odd'], { words: ['-odd'], command: [], flags: {} }],
  ])('%j are taken apart', (args, expected) => {
    expect(outcome(...args)).toEqual({ verb: args[0], ...expected });
  });

  it.each([
    [['--help'], { is: 'help' }],
    [['help', 'run'], { is: 'help' }],
    [['run', '--help'], { is: 'help' }],
    [['--version'], { is: 'version' }],
    [['-v'], { is: 'version' }],
    [[], { is: 'help' }],
    [['run', '--', 'x', '--help'], { verb: 'run', words: [], command: ['x', '--help'], flags: {} }],
  ])('%j ask for what they seem to', (args, expected) => {
    expect(outcome(...args)).toEqual(expected);
  });

  it.each([
    [['rum'], 'Did you mean run?'],
    [['ps'], 'Did you mean ls?'],
    [['start'], 'Did you mean run?'],
    [['attahc', 'a'], 'Did you mean attach?'],
    [['rnu', '--', 'x'], 'Did you mean run?'],
    [['psot', 'a'], 'Did you mean stop?'],
    [['stauts'], 'Did you mean ls?'],
    [['sessions'], 'Did you mean ls?'],
    [['restart', 'a'], 'Did you mean run --force or resume?'],
    [['spend'], 'Did you mean usage?'],
    [['update'], 'Did you mean npm install -g reeve?'],
    [['upgrade'], 'Did you mean npm install -g reeve?'],
    [['install'], 'Did you mean hooks install or shim install?'],
    [['config'], 'Did you mean doctor?'],
    [['--verison'], 'Did you mean --version?'],
    [['--helpp'], 'Did you mean --help?'],
    [['--frobnicate'], 'See: reeve --help'],
    [['Ls'], 'Did you mean ls?'],
    [['mute', 'a'], 'Did you mean notify mute?'],
    [['cancel'], 'Did you mean review cancel?'],
    [['trigger'], 'Did you mean review trigger?'],
    [['completion', 'tcsh'], 'See: reeve completion --help'],
    [['completion', 'zhs'], 'Did you mean zsh?'],
    [['constructor'], 'See: reeve --help'],
    [['reviw'], 'Did you mean review?'],
    [['reviw', 'lst'], 'Did you mean review ls?'],
    [['sumbit', 'show', 'a'], 'Did you mean submit show?'],
    [['review', 'list'], 'Did you mean review ls?'],
    [['submit', 'lst'], 'Did you mean submit ls?'],
    [['submit', 'list', '--refused'], 'Did you mean submit ls?'],
    [['submit', '-d', 'x'], 'See: reeve submit --help'],
    [['usage', 'ad', '--model', 'm'], 'Did you mean usage add?'],
    [['budget', 'ste', 'a', '--none'], 'Did you mean budget set?'],
    [['budget', 'a', '--none'], 'See: reeve budget --help'],
    [['hooks', 'stauts', 'claude'], 'Did you mean status?'],
    [['hooks', 'status', 'cluade'], 'Did you mean claude?'],
    [['run', '--detatch', 'x'], 'Did you mean --detach?'],
    [['frobnicate'], 'See: reeve --help'],
    [['ls', '--frobnicate'], 'See: reeve ls --help'],
    [['ls', '--json=yes'], 'See: reeve ls --help'],
    [['ls', 'extra'], 'See: reeve ls --help'],
    [['run', '--session'], 'See: reeve run --help'],
    [['run', '--cwd', '', 'x'], 'See: reeve run --help'],
    [['run', '--cwd=', 'x'], 'See: reeve run --help'],
    [['review', 'trigger', '--cwd', ''], 'See: reeve review trigger --help'],
    [['review', 'trigger', '--repo', ''], 'See: reeve review trigger --help'],
    ...['0x10', ' 5', '5 ', '1e3', '+5', '-0', '', 'Infinity', '86401'].map((grace): [string[], string] => [
      ['stop', 'a', '--grace', grace],
      'See: reeve stop --help',
    ]),
  ])('%j are refused with a hint', (args, hint) => {
    expect(outcome(...args)).toEqual({ code: 'usage', hint });
  });

  it.each([
    [['usage', 'ad'], 'usage add'],
    [['budget', 'ste'], 'budget set'],
    [['budget', 'web'], undefined],
    [['usage', 'list'], undefined],
    [['usage', '--all'], undefined],
    [['show', 'ad'], undefined],
  ])('%j are called, and may have been meant for a verb of two words', (args, meant) => {
    expect(parse(VERBS, args)).toMatchObject({ is: 'call', meant });
  });

  it.each([
    [['hooks'], '`hooks` needs an action:'],
    [['submit', 'show'], '`submit show` needs an id:'],
    [['show'], '`show` needs a session:'],
  ])('%j lack an argument, which is named with its article', (args, message) => {
    expect(() => parse(VERBS, args)).toThrow(message);
  });

  it('whatever they are, end in a call, a help, a version or a usage error', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(
        ...VERBS.flatMap(({ name, flags }) => [name, ...flags.map((flag) => `--${flag.name}`)]),
        '--',
        '-s',
        '=',
      ),
    );
    fc.assert(fc.property(fc.array(word, { maxLength: 6 }), (args) => outcome(...args) !== undefined));
  });

  it('behind -- always reach the command untouched', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (command) => {
        expect(outcome('run', '-s', 'a', '--', ...command)).toEqual({
          verb: 'run',
          words: [],
          command,
          flags: { session: 'a' },
        });
      }),
    );
  });
});

describe('verbs of two words', () => {
  const verb = (name: string, more: Partial<Verb> = {}): Verb => ({
    name,
    group: 'Any',
    says: 'does it',
    arguments: [],
    flags: [{ name: 'item', value: 'TEXT', many: true, says: 'again and again' }],
    execute: () => 0,
    ...more,
  });
  const known = [
    verb('child run', { takesCommand: true }),
    verb('child ls'),
    verb('cost', { arguments: [{ name: 'session', says: 'which', optional: true }] }),
    verb('cost add'),
  ];
  const read = (...args: string[]) => {
    try {
      const parsed = parse(known, args);
      if (parsed.is === 'call') return { verb: parsed.verb.name, ...parsed.call };
      if (parsed.is === 'version') return parsed.is;
      return { help: 'name' in parsed.of ? parsed.of.name : parsed.of.map(({ name }) => name) };
    } catch (error) {
      return error instanceof ReeveError ? `${error.message} ${error.hint ?? ''}` : error;
    }
  };

  it.each([
    [['child', 'run', '--', 'ls'], { verb: 'child run', words: [], command: ['ls'], flags: {} }],
    [['child', 'ls'], { verb: 'child ls', words: [], command: [], flags: {} }],
    [['cost', 'mine'], { verb: 'cost', words: ['mine'], command: [], flags: {} }],
    [['cost', 'add'], { verb: 'cost add', words: [], command: [], flags: {} }],
    [['cost', '--', 'add'], { verb: 'cost', words: ['add'], command: [], flags: {} }],
    [['child', '--help'], { help: ['child run', 'child ls'] }],
    [['help', 'child'], { help: ['child run', 'child ls'] }],
    [['help', 'child', 'ls'], { help: 'child ls' }],
    [['child', 'ls', '-h'], { help: 'child ls' }],
    [['child'], '`child` needs a second word: run, ls. See: reeve --help'],
    [['child', 'rum'], 'There is no verb "child rum". Did you mean child run?'],
    [['ls'], 'There is no verb "ls". Did you mean child ls?'],
  ])('%j are told from those of one', (args, expected) => {
    expect(read(...args)).toEqual(expected);
  });

  it('take a flag that may be repeated as a list', () => {
    expect(read('child', 'ls', '--item', 'a', '--item=b')).toMatchObject({ flags: { item: ['a', 'b'] } });
    expect(read('child', 'ls', '--item', 'a')).toMatchObject({ flags: { item: ['a'] } });
  });
});
