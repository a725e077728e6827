import { describe, expect, it } from 'vitest';
import { offeredWords } from '../../src/cli/offered-words.ts';
import { VERBS } from '../../src/cli/verbs.ts';

const offered = (...words: readonly string[]) => offeredWords(VERBS, words);

describe('what is offered', () => {
  it('first is every verb, once', () => {
    const { words } = offered('');
    for (const { name } of VERBS) expect(words).toContain(name.split(' ')[0]);
    expect(new Set(words).size).toBe(words.length);
  });

  it('behind the first word of several verbs are their second words', () => {
    expect(offered('review', '').words).toEqual(expect.arrayContaining(['trigger', 'ls', 'watch', 'submit']));
    // That is also a verb by itself.
    expect(offered('usage', '')).toMatchObject({
      words: expect.arrayContaining(['add']) as string[],
      stored: 'sessions',
    });
  });

  it.each([
    ['the verb’s own flags', ['run', '--'], '--on-live'],
    ['those of a verb of two words', ['child', 'run', '-'], '--on-parent-end'],
    ['those of one without arguments, unasked', ['ls', ''], '--all'],
    ['choices of a flag', ['run', '--on-live', ''], 'attach'],
    ['choices of a short flag’s long name', ['child', 'run', '--on-parent-end', 'a'], 'adopt'],
    ['harnesses', ['run', '--harness', ''], 'gemini'],
    ['reviewers', ['review', 'trigger', '--harness', ''], 'codex'],
    ['verdicts', ['review', 'submit', '--verdict', ''], 'approve'],
    ['choices of an argument', ['hooks', ''], 'install'],
    ['choices of a later argument', ['hooks', 'install', 'claude', ''], 'gemini'],
    ['shells', ['completion', ''], 'fish'],
    ['what help is about', ['help', 'review', ''], 'watch'],
  ])('are %s', (_, words, one) => {
    expect(offered(...words).words).toContain(one);
  });

  it.each([
    ['an argument', ['show', ''], 'sessions'],
    ['one of several', ['rm', 'a', ''], 'sessions'],
    ['a flag’s value', ['review', 'ls', '--worker', ''], 'sessions'],
    ['a short flag’s value', ['run', '-s', ''], 'sessions'],
    ['a review', ['review', 'show', ''], 'reviews'],
    ['a review of a flag', ['review', 'submit', '--run', ''], 'reviews'],
    ['a submission', ['submit', 'show', ''], 'submissions'],
  ])('for %s is in the store', (_, words, stored) => {
    expect(offered(...words).stored).toBe(stored);
  });

  it('with = is the same, with what is there already in front', () => {
    expect(offered('run', '--on-live=re')).toMatchObject({
      before: '--on-live=',
      words: ['refuse', 'attach', 'retire'],
    });
    expect(offered('review', 'ls', '--worker=')).toMatchObject({ before: '--worker=', stored: 'sessions' });
  });

  it.each([
    ['of a command', ['run', '--', 'claude', '']],
    ['where a command begins', ['run', '']],
    ['for a path', ['run', '--cwd', '']],
    ['for a text', ['send', 'a', '']],
    ['behind a verb that there is not', ['frobnicate', '']],
  ])('is nothing %s', (_, words) => {
    expect(offered(...words)).toEqual({ words: [], stored: null, before: '' });
  });

  it('is not what was given already', () => {
    expect(offered('ls', '--all', '-').words).not.toContain('--all');
    expect(offered('run', '-s', 'a', '-').words).not.toContain('--session');
    expect(offered('review', 'trigger', '--pr', '1=2', '-').words).toContain('--pr');
    expect(offered('hooks', 'install', 'claude', '').words).not.toContain('claude');
  });
});
