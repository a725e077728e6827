import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { hostOf, isSameInstallation, judgeInstallation } from '../../src/lifecycle/installation.ts';

const RECORDED = { id: 'abc', path: '/state', machine: ['board 1', 'card 02:00'] };
const HERE = { path: '/state', machine: ['board 1', 'card 02:00'], isOriginalThere: false };

describe('an installation', () => {
  it.each([
    ['where it was, on the same machine', HERE, 'same'],
    ['moved, with nothing left where it was', { ...HERE, path: '/moved' }, 'changed'],
    ['beside the one it was copied from', { ...HERE, path: '/copy', isOriginalThere: true }, 'copied'],
    ['on a machine that shares nothing with the one on record', { ...HERE, machine: ['board 2'] }, 'cloned'],
    ['on a machine with one card more', { ...HERE, machine: [...HERE.machine, 'card 03:00'] }, 'changed'],
    ['on a machine with one card less', { ...HERE, machine: ['board 1'] }, 'changed'],
    ['where the machine says nothing of itself', { ...HERE, machine: [] }, 'changed'],
    [
      'copied to another machine that sees the original, too',
      { path: '/copy', machine: ['board 2'], isOriginalThere: true },
      'copied',
    ],
  ] as const)('%s', (_title, here, verdict) => {
    expect(judgeInstallation(RECORDED, here)).toEqual({ is: verdict });
  });

  it('is never called cloned where one of the two says nothing of its machine', () => {
    const marks = fc.array(fc.string());
    fc.assert(
      fc.property(marks, fc.boolean(), (machine, isRecorded) => {
        const verdict = judgeInstallation(
          { ...RECORDED, machine: isRecorded ? machine : [] },
          { ...HERE, machine: isRecorded ? [] : machine },
        );
        return verdict.is === 'same' || verdict.is === 'changed';
      }),
    );
  });

  it('is the same whatever its host is called, and another one whatever they have in common otherwise', () => {
    expect(isSameInstallation(hostOf('laptop', 'a1'), hostOf('laptop.local', 'a1'))).toBe(true);
    expect(isSameInstallation(hostOf('laptop', 'a1'), hostOf('laptop', 'a2'))).toBe(false);
  });
});
