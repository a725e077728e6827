import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isShapedLikeId,
  MAX_SESSION_NAME_LENGTH,
  proposeSessionName,
  refuseSessionName,
} from '../../src/lifecycle/session.ts';
import { newId } from '../../src/supervisor/new-id.ts';

const LONGEST = 'x'.repeat(MAX_SESSION_NAME_LENGTH);

describe('a session name', () => {
  it.each([
    'a',
    '7',
    'api-claude',
    'fix_login.2',
    'me@host+x:1',
    'änderung',
    '会话',
    'Ω1',
    '𝔘nicode',
    LONGEST,
  ])('may be %j', (name) => {
    expect(refuseSessionName(name)).toBeNull();
  });

  it.each([
    '',
    '-rf',
    '--all',
    '.',
    '..',
    '.hidden',
    '/',
    'a/b',
    '../etc/passwd',
    'a\\b',
    'a b',
    ' a',
    'a\n',
    'a\nb',
    'a\0b',
    'a\u001b[31m',
    'a\u007f',
    'a\u202eb',
    'a\u200bb',
    '🦀',
    'a\uD800',
    'a;b',
    'a$b',
    'a*',
    "a'b",
    `${LONGEST}x`,
    'x'.repeat(300),
  ])('may not be %j', (name) => {
    expect(refuseSessionName(name)).toEqual(expect.stringMatching(/\w/));
  });

  it.each([
    'r-4k2m9x7q0p1z8y3c',
    's-aaaaaaaaaaaaaaaa',
    'sub-0123456789abcdef',
    'rev-zzzzzzzzzzzzzzzz',
    // No id has these letters; nobody who reads one knows.
    'r-iiiiiiiiiiiiiiii',
    'r-AAAAAAAAAAAAAAAA',
  ])('%j is shaped like an id', (name) => {
    expect(isShapedLikeId(name)).toBe(true);
  });

  it.each([
    'r-4k2m9x7q0p1z8y3',
    'r-4k2m9x7q0p1z8y3cc',
    'R-4k2m9x7q0p1z8y3c',
    'x-4k2m9x7q0p1z8y3c',
    'r-4k2m9x7q-p1z8y3c',
    's-web',
    'rev-2',
    'review-web',
    'ar-4k2m9x7q0p1z8y3c',
  ])('%j is not', (name) => {
    expect(isShapedLikeId(name)).toBe(false);
  });

  it('that is minted is shaped like an id', () => {
    for (const kind of ['r', 's', 'sub', 'rev'] as const)
      for (let count = 0; count < 200; count += 1) expect(isShapedLikeId(newId(kind))).toBe(true);
  });

  it('is refused with how long it is, when it is too long', () => {
    expect(refuseSessionName('x'.repeat(300))).toContain('300');
  });

  it('is never permitted with a slash, a control character, a leading dash or too many characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 150 }), (name) => {
        if (refuseSessionName(name) !== null) return;
        expect(name).toMatch(/^[^\p{C}\p{Z}/\\-][^\p{C}\p{Z}/\\]*$/u);
        expect(name.length).toBeLessThanOrEqual(MAX_SESSION_NAME_LENGTH);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a proposed session name', () => {
  it.each([
    ['/home/ada/api', 'claude', 1, 'api-claude'],
    ['/home/ada/api', 'claude', 2, 'api-claude-2'],
    ['/home/ada/api/', '/usr/local/bin/codex', 1, 'api-codex'],
    ['/', 'claude', 1, 'root-claude'],
    ['', '', 1, 'root-command'],
    ['/home/ada/My Project (old)', './run.sh', 1, 'My-Project-old-run.sh'],
    ['/home/ada/-rf', '--version', 1, 'rf-version'],
    ['/home/ada/🦀', '🦀', 3, 'root-command-3'],
    ['/home/ada/会话', 'gemini', 1, '会话-gemini'],
    // Each of these letters takes two units, and the limit of a part falls into the middle of one.
    [`/home/ada/a${'𝔘'.repeat(30)}`, 'claude', 1, `a${'𝔘'.repeat(19)}-claude`],
  ])('for %j running %j, try %i, is %j', (directory, program, number, expected) => {
    expect(proposeSessionName(directory, program, number)).toBe(expected);
  });

  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 120 }),
    fc.string({ unit: 'grapheme', maxLength: 120 }),
    // Letters that take two units each, behind an odd number of others, are what a careless cut tears apart.
    fc.string({ unit: fc.constantFrom('𝔘', '𝔘', 'a', '-'), minLength: 20, maxLength: 120 }),
  );

  it('is permitted for any directory, program and number', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (...given) => {
        expect(refuseSessionName(proposeSessionName(...given))).toBeNull();
      }),
      { numRuns: 2_000 },
    );
  });

  it('is another one for another number', () => {
    fc.assert(
      fc.property(anyText, anyText, (directory, program) => {
        const names = [1, 2, 3, 10, 11].map((number) => proposeSessionName(directory, program, number));
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});
