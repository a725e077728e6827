import { describe, expect, it } from 'vitest';
import { judgeContinuity } from '../../src/lifecycle/store-continuity.ts';

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
    ['whose server is not on record yet', SEEN, { ...NOW, recordedSystem: '' }, 'continued'],
  ] as const)('%s', (_title, seen, now, verdict) => {
    expect(judgeContinuity(seen, now).is).toBe(verdict);
  });
});
