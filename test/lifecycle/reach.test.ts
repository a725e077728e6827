import { describe, expect, it } from 'vitest';
import { placeOf, whyNotEnded, whyNotJudged } from '../../src/lifecycle/reach.ts';
import type { Place, Vantage } from '../../src/lifecycle/reach.ts';
import { CLAIMED, RUNNING } from './samples.ts';

const HERE: Vantage = {
  host: 'loom/aaaa',
  boot: 'boot-1',
  pidNamespace: 'pid:[1]',
  hasRecords: false,
};
const OWNER = { ...RUNNING.keeper, host: 'loom/aaaa', boot: 'boot-1', pidNamespace: 'pid:[1]' };
const LOG = `/home/ada/.local/state/reeve/runs/${RUNNING.id}/output.log`;
const OTHER = { is: 'other_directory', directory: '/home/ada/.local/state/reeve' } as const;

describe('a run', () => {
  const places: readonly [string, Partial<typeof OWNER>, Partial<Vantage>, Place['is']][] = [
    ['of this state directory', {}, {}, 'here'],
    ['of this one under another name of the machine', { host: 'laptop/aaaa' }, {}, 'here'],
    ['of this one before a restart', { boot: 'boot-0' }, {}, 'here'],
    ['of this one in another pid namespace', { pidNamespace: 'pid:[2]' }, {}, 'here'],
    [
      'whose records are here, of an identity before this one',
      { host: 'loom/0' },
      { hasRecords: true },
      'here',
    ],
    ['of another one of this machine', { host: 'loom/bbbb' }, {}, 'other_directory'],
    ['of another host', { host: 'beta/bbbb', boot: 'boot-2' }, {}, 'other_host'],
    ['of a clone of this host', { host: 'loom/bbbb', boot: 'boot-2' }, {}, 'other_host'],
    [
      'of another host with records of that name',
      { host: 'b/b', boot: '2' },
      { hasRecords: true },
      'other_host',
    ],
    ['of a container', { host: 'c/bbbb', pidNamespace: 'pid:[2]' }, {}, 'other_host'],
  ];
  it.each(places)('%s is found where it is', (_, owner, here, is) => {
    const run = { ...RUNNING, keeper: { ...OWNER, ...owner } };
    expect(placeOf(run, { ...HERE, ...here }).is).toBe(is);
  });

  it('that has no keeper yet is where its launcher is', () => {
    const run = { ...CLAIMED, launcher: { ...OWNER, host: 'beta/bbbb', boot: 'boot-2' } };
    expect(placeOf(run, HERE)).toEqual({ is: 'other_host', host: 'beta/bbbb' });
  });

  it.each([
    [LOG, OTHER.directory],
    [null, null],
    ['/elsewhere/output.log', null],
  ])('tells its state directory by its log (%s)', (logPath, directory) => {
    const run = { ...RUNNING, logPath, keeper: { ...OWNER, host: 'loom/bbbb' } };
    expect(placeOf(run, HERE)).toEqual({ is: 'other_directory', directory });
  });
});

describe('whoever has the records', () => {
  it('judges', () => {
    expect(whyNotJudged({ is: 'here' })).toBeNull();
  });

  it.each([OTHER, { is: 'other_host', host: 'beta/bbbb' }] as const)(
    'is the only one who does ($is)',
    (place) => {
      const [why, where] = [whyNotJudged(place), place.is === 'other_host' ? 'beta' : OTHER.directory];
      expect(why?.because).toContain(where);
      expect(why?.wayOn).toContain(where);
    },
  );
});

describe('whoever ends a run', () => {
  const PLACES: readonly Place[] = [{ is: 'here' }, OTHER, { is: 'other_host', host: 'beta/bbbb' }];
  it.each(PLACES)('needs its records ($is)', (place) => {
    expect(whyNotEnded(RUNNING, place, []) === null).toBe(place.is === 'here');
  });

  it.each(PLACES)('must be allowed to signal it ($is)', (place) => {
    const why = whyNotEnded(RUNNING, place, [RUNNING.keeper.pid]);
    expect(why?.wayOn).toContain(RUNNING.actor);
    expect(why?.details).toEqual(
      place.is === 'here' ? { startedBy: RUNNING.actor } : whyNotJudged(place)?.details,
    );
  });
});
