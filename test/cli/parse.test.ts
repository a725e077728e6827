import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { parse } from '../../src/cli/parse.ts';
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
    [['run', '--', 'x', '--help'], { verb: 'run', words: [], command: ['x', '--help'], flags: {} }],
  ])('%j ask for what they seem to', (args, expected) => {
    expect(outcome(...args)).toEqual(expected);
  });

  it.each([
    [['rum'], 'Did you mean run?'],
    [['attahc', 'a'], 'Did you mean attach?'],
    [['run', '--detatch', 'x'], 'Did you mean --detach?'],
    [['frobnicate'], 'See: reeve --help'],
    [['ls', '--frobnicate'], 'See: reeve ls --help'],
    [['ls', '--json=yes'], 'See: reeve ls --help'],
    [['ls', 'extra'], 'See: reeve ls --help'],
    [['run', '--session'], 'See: reeve run --help'],
  ])('%j are refused with a hint', (args, hint) => {
    expect(outcome(...args)).toEqual({ code: 'usage', hint });
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
