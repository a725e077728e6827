import { expect, it } from 'vitest';
import { hostNames } from '../../src/api/host-words.ts';

it.each([
  [[], []],
  [['loom/aaaabbbb', 'loom/aaaabbbb'], []],
  [
    ['loom/aaaabbbb', 'beta/ccccdddd'],
    ['loom', 'beta'],
  ],
  [
    ['loom/aaaabbbb', 'loom/ccccdddd', 'beta/eeeeffff'],
    ['loom/aaaa', 'loom/cccc', 'beta'],
  ],
])('of %j, those that need telling apart have names that do', (hosts, names) => {
  expect([...hostNames(hosts).values()]).toEqual(names);
});
