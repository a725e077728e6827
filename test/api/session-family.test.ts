/** Where children stand on a screen. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withFamilies } from '../../src/api/session-family.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { STATUS_GROUPS } from '../../src/api/status-words.ts';
import type { Status } from '../../src/lifecycle/status.ts';
import { NOW_MS, sessionView } from '../fixtures/session-views.ts';

const child = (name: string, owner: string, status: Status = 'working', secondsAgo = 30) =>
  sessionView(name, status, {
    run: {
      parent: `r-${owner}`,
      owner: `r-${owner}`,
      startedAt: new Date(NOW_MS - secondsAgo * 1000).toISOString(),
    },
  });

const placed = (...sessions: readonly SessionView[]) =>
  withFamilies(
    STATUS_GROUPS.map(({ statuses }) => sessions.filter(({ status }) => statuses.includes(status))),
  ).map((group) => group.map(({ session, depth }) => `${'>'.repeat(depth)}${session.name}`));

describe('a live child', () => {
  it('stands below what it belongs to, in that one’s group, earlier ones first, to any depth', () => {
    expect(
      placed(
        child('late', 'lead', 'working', 5),
        sessionView('other'),
        sessionView('lead'),
        child('deep', 'early'),
        child('early', 'lead', 'idle', 50),
      ),
    ).toEqual([[], ['other', 'lead', '>early', '>>deep', '>late'], [], []]);
  });

  it('that needs somebody stands where people look for those, with its own children', () => {
    expect(
      placed(sessionView('lead'), child('asking', 'lead', 'needs-input'), child('deep', 'asking', 'idle')),
    ).toEqual([['asking', '>deep'], ['lead'], [], []]);
  });

  it('that needs somebody stays below one that needs somebody too', () => {
    expect(placed(sessionView('lead', 'unknown'), child('asking', 'lead', 'needs-input'))).toEqual([
      ['lead', '>asking'],
      [],
      [],
      [],
    ]);
  });

  it('that was handed on stands below who has it now, not below who started it', () => {
    const adopted = sessionView('review', 'working', { run: { parent: 'r-gone', owner: 'r-next' } });
    expect(placed(sessionView('gone', 'superseded'), sessionView('next'), adopted)).toEqual([
      [],
      ['next', '>review'],
      [],
      ['gone'],
    ]);
  });

  it('stands by itself when what it belongs to has ended, was let go, or is not shown', () => {
    const free = sessionView('free', 'working', { run: { parent: 'r-lead', owner: null } });
    expect(
      placed(sessionView('over', 'done'), child('waiting', 'over'), free, child('orphan', 'elsewhere')),
    ).toEqual([[], ['waiting', 'free', 'orphan'], [], ['over']]);
  });
});

it('an ended child stands among the ended', () => {
  expect(placed(sessionView('lead'), child('review', 'lead', 'superseded'))).toEqual([
    [],
    ['lead'],
    [],
    ['review'],
  ]);
});

it('whatever the record says, rings too, everybody is shown exactly once', () => {
  const statuses: readonly Status[] = ['working', 'idle', 'needs-input', 'unknown', 'done'];
  const person = fc.record({
    status: fc.constantFrom(...statuses),
    owner: fc.option(fc.integer({ min: 0, max: 7 }), { nil: null }),
  });
  fc.assert(
    fc.property(fc.array(person, { maxLength: 8 }), (people) => {
      const sessions = people.map(({ status, owner }, index) =>
        sessionView(String(index), status, { run: { owner: owner === null ? null : `r-${owner}` } }),
      );
      const names = placed(...sessions)
        .flat()
        .map((name) => name.replaceAll('>', ''));
      expect(names.toSorted()).toEqual(sessions.map(({ name }) => name).toSorted());
    }),
  );
});
