/** What is said about the children of a run before it is ended. */
import { describe, expect, it } from 'vitest';
import { endOfFamily, fateSentence } from '../../src/api/family-end.ts';
import type { OnParentEnd } from '../../src/lifecycle/child.ts';
import type { Status } from '../../src/lifecycle/status.ts';
import { sessionView } from '../fixtures/session-views.ts';

const child = (name: string, owner: string, onParentEnd: OnParentEnd, status: Status = 'working') =>
  sessionView(name, status, { run: { parent: `r-${owner}`, owner: `r-${owner}`, onParentEnd } });

const fates = (...sessions: readonly ReturnType<typeof child>[]) => {
  const { cancel, adopt, detach } = endOfFamily(sessions, 'r-lead');
  const names = (those: typeof cancel) => those.map(({ name }) => name);
  return { cancel: names(cancel), adopt: names(adopt), detach: names(detach) };
};

describe('the end of a run', () => {
  it('ends the children that are to be cancelled, and theirs, each by its own policy', () => {
    expect(
      fates(
        child('review', 'lead', 'cancel'),
        child('lint', 'review', 'cancel'),
        child('watch', 'review', 'detach'),
        child('docs', 'review', 'adopt'),
      ),
    ).toEqual({ cancel: ['review', 'lint'], adopt: ['docs'], detach: ['watch'] });
  });

  it('leaves what belongs to a child that lives on with that child', () => {
    expect(
      fates(
        child('docs', 'lead', 'adopt'),
        child('lint', 'docs', 'cancel'),
        child('watch', 'lead', 'detach'),
        child('log', 'watch', 'cancel'),
      ),
    ).toEqual({ cancel: [], adopt: ['docs'], detach: ['watch'] });
  });

  it('is nothing to those that have ended, belong to another run, or to nobody', () => {
    expect(
      fates(
        child('old', 'lead', 'cancel', 'done'),
        child('foreign', 'other', 'cancel'),
        sessionView('free', 'working', { run: { parent: 'r-lead', owner: null, onParentEnd: 'detach' } }),
      ),
    ).toEqual({ cancel: [], adopt: [], detach: [] });
  });

  it('of a damaged record with a ring is found all the same', () => {
    expect(fates(child('a', 'lead', 'cancel'), child('lead', 'a', 'cancel')).cancel).toEqual(['a']);
  });
});

describe('the sentence', () => {
  it.each([
    [[], null],
    [['a'], 'a ends with it'],
    [['a', 'b'], 'a and b end with it'],
    [['a', 'b', 'c'], 'a, b and c end with it'],
    [[...'abcdefgh'], 'a, b, c, d, e, f, g and h end with it'],
    [[...'abcdefghi'], 'a, b, c, d, e, f, g and 2 more end with it'],
  ])('about %j', (names, says) => {
    expect(fateSentence('cancel', names)).toBe(says);
  });
});
