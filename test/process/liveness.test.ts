import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Liveness, ProcessIdentity } from '../../src/lifecycle/process-identity.ts';
import { probe } from '../../src/process/liveness.ts';
import { identify } from '../../src/process/process-table.ts';
import type { ProcessReading, ProcessTable } from '../../src/process/process-table.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const RECORDED: ProcessIdentity = { ...HERE, pid: 7, startTime: '70' };
const THERE: ProcessReading = { is: 'there', fact: fact(7, 1) };
const REUSED: ProcessReading = { is: 'there', fact: fact(7, 1, { startTime: '71' }) };
const ZOMBIE: ProcessReading = { is: 'there', fact: fact(7, 1, { isZombie: true }) };
const STRANGE_ZOMBIE: ProcessReading = { is: 'there', fact: fact(7, 1, { startTime: '71', isZombie: true }) };
const GONE: ProcessReading = { is: 'gone' };
const UNREADABLE: ProcessReading = { is: 'unreadable', because: 'EACCES' };
const READINGS = { THERE, REUSED, ZOMBIE, STRANGE_ZOMBIE, GONE, UNREADABLE };

function tableThatReads(reading: ProcessReading): ProcessTable {
  return { ...fakeTable([]), read: () => reading };
}

/** Without the words for people. */
function brief(liveness: Liveness): string {
  return liveness.is === 'dead' ? `dead: ${liveness.proof}` : liveness.is;
}

describe('a probe', () => {
  it.each<[keyof typeof READINGS, string]>([
    ['THERE', 'alive'],
    ['REUSED', 'dead: reused'],
    ['ZOMBIE', 'dead: zombie'],
    ['STRANGE_ZOMBIE', 'dead: reused'],
    ['GONE', 'dead: gone'],
    ['UNREADABLE', 'unknown'],
  ])('of a process that is %s here says %s', (reading, expected) => {
    expect(brief(probe(tableThatReads(READINGS[reading]), RECORDED))).toBe(expected);
  });

  it.each<[keyof typeof READINGS, string]>([
    ['THERE', 'unknown'],
    ['REUSED', 'unknown'],
    ['ZOMBIE', 'unknown'],
    ['GONE', 'dead: gone'],
    ['UNREADABLE', 'unknown'],
  ])('of a process recorded without its start time, with that pid %s, says %s', (reading, expected) => {
    const recorded = { ...RECORDED, startTime: null };
    expect(brief(probe(tableThatReads(READINGS[reading]), recorded))).toBe(expected);
  });

  it.each(Object.keys(READINGS) as (keyof typeof READINGS)[])(
    'does not take what it reads here (%s) for a process that is elsewhere',
    // The names are the keys of the record.
    (reading) => {
      const table = tableThatReads(READINGS[reading]);
      const elsewhere = [
        { ...RECORDED, host: 'other', boot: 'boot-2' },
        { ...RECORDED, pidNamespace: 'pid:[2]' },
        { ...RECORDED, boot: 'boot-0' },
        { ...RECORDED, boot: 'boot-0', pidNamespace: 'pid:[2]' },
      ];
      expect(elsewhere.map((identity) => brief(probe(table, identity)))).toEqual([
        // Another host has another boot: that says nothing about whether it was restarted.
        'unknown',
        'unknown',
        'dead: rebooted',
        'dead: rebooted',
      ]);
    },
  );

  it.each([
    ['the record', { boot: 'container:boot-0' }, {}],
    ['whoever looks', {}, { boot: 'container:boot-0' }],
    ['both', { boot: 'container:boot-0' }, { boot: 'container:boot-1' }],
  ])('takes no other boot for a restart where a container gave it to %s', (_, recorded, here) => {
    const said = (reading: ProcessReading, identity: Partial<ProcessIdentity>) => {
      const table = tableThatReads(reading);
      const looking = { ...table, host: { ...table.host, ...here } };
      return brief(probe(looking, { ...RECORDED, ...recorded, ...identity }));
    };
    expect([
      said(THERE, { pidNamespace: 'pid:[2]' }),
      said(READINGS.GONE, { pidNamespace: 'pid:[2]' }),
    ]).toEqual(['unknown', 'unknown']);
    // Where pids mean the same, they tell.
    expect([said(THERE, {}), said(READINGS.GONE, {})]).toEqual(['alive', 'dead: gone']);
    expect(said(THERE, { host: 'other' })).toBe('unknown');
  });

  it('says why it does not know', () => {
    expect(probe(tableThatReads(UNREADABLE), RECORDED)).toEqual({
      is: 'unknown',
      because: expect.stringContaining('EACCES'),
    });
  });

  it('knows a process of this boot again after the host was renamed', () => {
    expect(probe(tableThatReads(THERE), { ...RECORDED, host: 'renamed' })).toEqual({ is: 'alive' });
  });

  it('says alive only when every part of the identity but the host’s name is as on record', () => {
    const some = <T>(own: T, other: T) => fc.constantFrom(own, other);
    const anyIdentity = fc.record({
      host: some<string>(HERE.host, 'other'),
      boot: some<string>(HERE.boot, 'boot-0'),
      pidNamespace: some<string>(HERE.pidNamespace, 'pid:[2]'),
      pid: some(7, 8),
      startTime: fc.constantFrom('70', '71', null),
    });
    fc.assert(
      fc.property(anyIdentity, fc.boolean(), (identity, isZombie) => {
        const { is } = probe(fakeTable([fact(7, 1, { isZombie })]), identity);
        const isSame = JSON.stringify({ ...identity, host: HERE.host }) === JSON.stringify(RECORDED);
        expect(is === 'alive').toBe(isSame && !isZombie);
      }),
    );
  });
});

describe('an identity', () => {
  it('is the host, the boot, the pid namespace, the pid and the start time', () => {
    expect(identify(tableThatReads(THERE), 7)).toEqual(RECORDED);
  });

  it.each([GONE, UNREADABLE])('is refused of a process that is $is', (reading) => {
    expect(() => identify(tableThatReads(reading), 7)).toThrow('7');
  });
});
