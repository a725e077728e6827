import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/api/nearest.ts';

const KNOWN = ['run', 'ls', 'stop', 'send', 'attach', 'usage'];

describe('the nearest word', () => {
  it.each([
    ['rum', 'run'],
    ['runn', 'run'],
    ['rnu', 'run'],
    ['nru', 'run'],
    ['attahc', 'attach'],
    ['atathc', 'attach'],
    ['attcah', 'attach'],
    ['sned', 'send'],
    ['psot', 'stop'],
    ['usgae', 'usage'],
    ['uasg', 'usage'],
    ['list', 'ls'],
    ['update', undefined],
    ['x', undefined],
    ['', undefined],
  ])('to %j is %j', (word, expected) => {
    expect(nearest(word, KNOWN)).toBe(expected);
  });

  it('is within as many slips as are allowed', () => {
    expect(nearest('atach', KNOWN, 1)).toBe('attach');
    expect(nearest('atahc', KNOWN, 1)).toBe(undefined);
    expect(nearest('atahc', KNOWN)).toBe('attach');
  });

  it('is found whichever two neighbouring letters changed places', () => {
    fc.assert(
      fc.property(fc.constantFrom('send', 'attach', 'usage', 'stop'), fc.nat(), (word, given) => {
        const at = given % (word.length - 1);
        const slip = `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`;
        expect(nearest(slip, KNOWN, 1)).toBe(word);
      }),
    );
  });
});
