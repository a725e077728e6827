import { describe, expect, it } from 'vitest';
import { judgeContinuity, systemToRecord } from '../../src/lifecycle/store-continuity.ts';

const SEEN = { id: 'store-1', seq: 40, epoch: 3, run: 'r-1', session: 's-1' };
const NOW = { id: 'store-1', seq: 40, remembers: true, system: 'a/1', recordedSystem: 'a/1' };

describe('a store', () => {
  it.each([
    ['that is as it was', SEEN, NOW, 'continued'],
    ['that went on', SEEN, { ...NOW, seq: 41 }, 'continued'],
    ['of which nothing is known here', null, NOW, 'continued'],
    ['in which nothing is, and of which nothing is known', null, { ...NOW, seq: 0 }, 'new'],
    ['that is another one', SEEN, { ...NOW, id: 'store-2', seq: 90 }, 'broken'],
    ['with fewer events than were seen', SEEN, { ...NOW, seq: 39 }, 'broken'],
    [
      'that went back and on again, past what was seen',
      SEEN,
      { ...NOW, seq: 90, remembers: false },
      'broken',
    ],
    ['on a server that was promoted', SEEN, { ...NOW, system: 'a/2' }, 'broken'],
    [
      'on a server that was promoted, for a host that never saw it',
      null,
      { ...NOW, system: 'a/2' },
      'broken',
    ],
    ['on a server that does not tell', SEEN, { ...NOW, system: '' }, 'continued'],
    ['whose table is another one', null, { ...NOW, system: 'a/1/9', recordedSystem: 'a/1/8' }, 'broken'],
    ['of which an earlier Reeve recorded less', SEEN, { ...NOW, system: 'a/1/9' }, 'continued'],
    ['of which an earlier Reeve recorded another', SEEN, { ...NOW, system: 'a/11/9' }, 'broken'],
    ['whose server is not on record yet', SEEN, { ...NOW, recordedSystem: '' }, 'continued'],
  ] as const)('%s', (_title, seen, now, verdict) => {
    expect(judgeContinuity(seen, now).is).toBe(verdict);
  });

  it.each([
    ['what is not on record yet', { system: 'a/1/9', recordedSystem: '' }, 'a/1/9'],
    ['what an earlier Reeve left out', { system: 'a/1/9', recordedSystem: 'a/1' }, 'a/1/9'],
    ['nothing of another one', { system: 'a/2/9', recordedSystem: 'a/1' }, null],
    ['nothing that is there', { system: 'a/1/9', recordedSystem: 'a/1/9' }, null],
    ['nothing that is not told', { system: '', recordedSystem: '' }, null],
  ] as const)('has put on record %s', (_title, told, expected) => {
    expect(systemToRecord({ ...NOW, ...told })).toBe(expected);
  });
});
