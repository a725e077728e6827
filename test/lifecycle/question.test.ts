import { describe, expect, test } from 'vitest';
import { isAnotherQuestion, questionOf } from '../../src/lifecycle/question.ts';

describe('a question', () => {
  test.each([
    ['permission to use Bash', 'd', { tool: 'Bash', digest: 'd' }],
    ['Claude needs your permission to use mcp__x__y', undefined, { tool: 'mcp__x__y', digest: null }],
    ['Shall I go on?', 7, { tool: null, digest: null }],
    [undefined, undefined, { tool: null, digest: null }],
  ])('for %j (%j) is known by the tool and what was asked, and by no other words', (words, digest, known) => {
    expect(questionOf(words, digest)).toEqual(known);
  });

  const of = (tool: string | null, digest: string | null = null) => ({ tool, digest });

  test.each([
    ['the same request, reported again', of('Bash', 'a'), of('Bash', 'a')],
    ['a reminder of the request', of('Bash', 'a'), of('Bash')],
    ['a reminder that names no tool', of('Bash', 'a'), of(null)],
    ['a reminder of an earlier request, after a later one', of('Write', 'b'), of('Bash')],
    ['a reminder without a tool, after another such', of(null), of(null)],
    ['a reminder of the same tool', of('Bash'), of('Bash')],
    ['the request of which a reminder was read first', of('Bash'), of('Bash', 'a')],
  ])('is the same when it is %s', (_, before, after) => {
    expect(isAnotherQuestion(before, after)).toBe(false);
  });

  test.each([
    ['asks for another tool', of('Bash', 'a'), of('Write', 'b')],
    ['asks for the same tool and something else', of('Bash', 'a'), of('Bash', 'b')],
    ['is a request, and before there was only something on the screen', of(null), of('Bash', 'a')],
    ['is a request for another tool than a reminder was for', of('Write'), of('Bash', 'a')],
    ['reminds of another tool, by a harness that only reminds', of('Write'), of('Bash')],
  ])('is another when it %s', (_, before, after) => {
    expect(isAnotherQuestion(before, after)).toBe(true);
  });
});
