import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readMark } from '../../src/process/run-mark.ts';
import { doubtAbout } from '../../src/process/tree-doubt.ts';
import type { TreeFacts } from '../../src/process/tree-look.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const keeper = { ...HERE, pid: 20, startTime: '200' };
const of = (mark: TreeFacts['mark']): TreeFacts => ({
  id: 'r-1',
  keeper,
  harness: null,
  containment: { by: 'subreaper' },
  ...(mark === undefined ? {} : { mark }),
});

it('a mark that could not be read is a doubt, with the reason', () => {
  expect(doubtAbout(fakeTable([]), of({ is: 'unreadable', because: 'reading it gave EIO' }))).toContain(
    'EIO',
  );
});

it('without a mark, an orphan that shows nothing and is younger than the keeper is a doubt, and nobody else', () => {
  const withheld = [fact(10, 1), fact(30, 1), fact(40, 7), fact(50, 1, { isZombie: true })];
  const table = { ...fakeTable([fact(7, 1)]), withheld: () => withheld };
  const doubt = doubtAbout(table, of({ is: 'none' }));
  expect([10, 30, 40, 50].filter((pid) => doubt?.includes(`pid ${pid}`))).toEqual([30]);
  expect(doubtAbout(table, of({ is: 'set', mark: '7' }))).toBe(null);
});

it('an orphan may also have come to a systemd of its user, and nobody is doubted of a run without a keeper', () => {
  const table = {
    ...fakeTable([fact(7, 1, { name: 'systemd' })]),
    withheld: () => [fact(30, 7), fact(40, 9)],
  };
  expect(doubtAbout(table, of({ is: 'none' }))).toMatch(/program-30 \(pid 30\)$/);
  expect(doubtAbout(table, { ...of({ is: 'none' }), keeper: null })).toBe(null);
});

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});
function directoryOf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'reeve-doubt-'));
  directories.push(directory);
  return directory;
}

it('a cgroup that lists nobody, and cannot be asked whether it is empty, is a doubt', () => {
  const path = directoryOf();
  const doubt = () => doubtAbout(fakeTable([]), { ...of(undefined), containment: { by: 'cgroup', path } });
  writeFileSync(join(path, 'cgroup.procs'), '');
  writeFileSync(join(path, 'cgroup.events'), 'populated 0\n');
  expect(doubt()).toBe(null);
  rmSync(join(path, 'cgroup.events'));
  mkdirSync(join(path, 'cgroup.events'));
  expect(doubt()).toContain('does not say');
});

it('the mark of a run is what its harness recorded; none without a record, and not known when that cannot be read', () => {
  const directory = directoryOf();
  expect(readMark(directory)).toEqual({ is: 'none' });
  writeFileSync(join(directory, 'started.json'), '{"mark":"4711"}');
  expect(readMark(directory)).toEqual({ is: 'set', mark: '4711' });
  // What should be the run's directory is a file.
  expect(readMark(join(directory, 'started.json'))).toEqual({ is: 'none' });
  rmSync(join(directory, 'started.json'));
  mkdirSync(join(directory, 'started.json'));
  expect(readMark(directory)).toMatchObject({
    is: 'unreadable',
    because: expect.stringContaining('EISDIR'),
  });
});
