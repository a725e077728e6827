import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { HOOK_EVENTS } from '../../src/harness/hook-events.ts';
import { addTrust, removeTrust } from '../../src/harness/hook-settings/codex-trust.ts';
import { mergeHooks, ourHooks, removeHooksFrom } from '../../src/harness/hook-settings/json-hooks.ts';

const wanted = HOOK_EVENTS.claude.map((event) => ({
  event,
  handler: { type: 'command', command: 'REEVE_HOOK=1; now', timeout: 5 } as const,
}));

/** White space and comments, as people put them everywhere; a line comment always ends. */
const space = fc.constantFrom('', '', ' ', '\n', '\n  ', '\r\n\t', '\n\n    ');
const comment = fc.constantFrom(
  '',
  '',
  '',
  '/* c */',
  '// c, "hooks": {\n',
  ' /* a\n b */ ',
  '// http://x\r\n',
);
const trivia = fc.tuple(space, comment, space).map((parts) => parts.join(''));
const withTrivia = (node: fc.Arbitrary<string>) =>
  fc.tuple(trivia, node, trivia).map((parts) => parts.join(''));

const scalar = fc.oneof(
  fc.string().map((value) => JSON.stringify(value)),
  fc.constantFrom('1', 'true', 'null', '"//"'),
);

function list(open: string, close: string, items: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  if (items.length === 0) return trivia.map((inside) => open + inside + close);
  return fc
    .tuple(fc.tuple(...items.map(withTrivia)), fc.boolean(), trivia)
    .map(([written, hasComma, after]) => `${open}${written.join(',')}${hasComma ? `,${after}` : ''}${close}`);
}

const property = (name: string, value: fc.Arbitrary<string>) =>
  fc.tuple(trivia, trivia, value).map(([before, after, written]) => `"${name}"${before}:${after}${written}`);

const some = <T>(items: readonly T[]) => fc.subarray([...items]);
const handler = list('{', '}', [property('type', fc.constant('"command"')), property('command', scalar)]);
const groups = fc.integer({ min: 0, max: 3 }).chain((count) =>
  list(
    '[',
    ']',
    Array.from({ length: count }, () => list('{', '}', [property('hooks', list('[', ']', [handler]))])),
  ),
);
const hooks = some(['Stop', 'SessionStart', 'PreToolUse', 'SessionEnd', 'PostToolUse']).chain((events) =>
  list(
    '{',
    '}',
    events.map((event) => property(event, groups)),
  ),
);
const settings = some(['model', 'hooks', 'permissions', 'env']).chain((names) =>
  withTrivia(
    list(
      '{',
      '}',
      names.map((name) => property(name, name === 'hooks' ? hooks : scalar)),
    ),
  ),
);

const valueOf = (text: string): unknown => JSON.parse(JSON.stringify(parse(text)));

describe('hooks in generated settings', () => {
  it('come and go without a trace, and with nothing else changed meanwhile', () => {
    fc.assert(
      fc.property(settings, (text) => {
        const installed = mergeHooks(text, wanted, 'close-gaps');
        expect(mergeHooks(installed, wanted, 'close-gaps')).toBe(installed);
        expect(
          ourHooks(installed)
            .map(({ event }) => event)
            .sort(),
        ).toEqual([...HOOK_EVENTS.claude].sort());
        const before = valueOf(text) as { hooks?: Record<string, unknown[]> };
        const now = valueOf(installed) as { hooks: Record<string, unknown[]> };
        for (const [event, theirs] of Object.entries(before.hooks ?? {})) {
          expect(now.hooks[event]?.slice(0, theirs.length)).toEqual(theirs);
        }
        expect({ ...now, hooks: null }).toEqual({ ...before, hooks: null });
        expect(removeHooksFrom(installed, 'close-gaps')).toBe(text);
        expect(removeHooksFrom(installed, 'keep-positions')).toBe(text);
      }),
      { numRuns: 1_500 },
    );
  });

  it('are replaced in place, and still go without a trace', () => {
    fc.assert(
      fc.property(settings, (text) => {
        const old = wanted.map(({ event }) => ({
          event,
          handler: { type: 'command', command: 'REEVE_HOOK=1; before', timeout: 9 } as const,
        }));
        const more = [
          ...old,
          {
            ...old[0],
            event: 'PreCompact',
            handler: { type: 'command', command: 'REEVE_HOOK=1; gone', timeout: 1 } as const,
          },
        ];
        const updated = mergeHooks(mergeHooks(text, more, 'close-gaps'), wanted, 'close-gaps');
        expect(isDeepStrictEqual(valueOf(updated), valueOf(mergeHooks(text, wanted, 'close-gaps')))).toBe(
          true,
        );
        expect(removeHooksFrom(updated, 'close-gaps')).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it('leave what stands beside them valid, wherever somebody moved them', () => {
    const moved = list('{', '}', [
      property('a', scalar),
      property(
        'hooks',
        list('{', '}', [
          property(
            'Stop',
            list('[', ']', [
              list('{', '}', [
                property(
                  'hooks',
                  list('[', ']', [handler, fc.constant('{"command": "REEVE_HOOK=1; x"}'), handler]),
                ),
              ]),
              fc.constant('{"hooks": [{"command": "REEVE_HOOK=1; x"}]}'),
              list('{', '}', [property('hooks', list('[', ']', [handler]))]),
            ]),
          ),
        ]),
      ),
      property('z', scalar),
    ]);
    fc.assert(
      fc.property(moved, (text) => {
        const expected = valueOf(text) as { hooks: { Stop: { hooks: { command: string }[] }[] } };
        const rest = expected.hooks.Stop.map((group) => ({
          hooks: group.hooks.filter(({ command }) => command !== 'REEVE_HOOK=1; x'),
        }));
        const closed = { ...expected, hooks: { Stop: rest.filter((group) => group.hooks.length > 0) } };
        expect(valueOf(removeHooksFrom(text, 'close-gaps'))).toEqual(closed);
        expect(valueOf(removeHooksFrom(text, 'keep-positions'))).toEqual({
          ...expected,
          hooks: { Stop: rest },
        });
      }),
      { numRuns: 500 },
    );
  });
});

describe('trust in a generated configuration', () => {
  it('comes and goes without a trace', () => {
    const line = fc.constantFrom(
      '',
      '# c',
      'a.b = 1',
      '[t]',
      '[hooks.state."x"]',
      'trusted_hash = "y"',
      '  ',
    );
    const eol = fc.constantFrom('\n', '\r\n');
    const config = fc
      .tuple(fc.uniqueArray(line), eol, fc.boolean())
      .map(([lines, end, isEnded]) => lines.join(end) + (isEnded ? end : ''));
    const trusts = [
      { key: '/h/hooks.json:stop:0:0', hash: 'sha256:1' },
      { key: '/h/"q"\\hooks.json:stop:1:0', hash: 'sha256:2' },
    ];
    fc.assert(
      fc.property(config, (text) => {
        const edit = addTrust(text, trusts);
        if (edit.is === 'refused') throw new Error(edit.because);
        expect(edit.text.startsWith(text)).toBe(true);
        expect(addTrust(edit.text, trusts)).toEqual(edit);
        expect(removeTrust(edit.text)).toBe(text);
      }),
    );
  });
});
