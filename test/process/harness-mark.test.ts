/** Whose a process is that bears a harness's own mark, in process tables that cannot be staged: a pid used again. */
import { describe, expect, it } from 'vitest';
import { harnessMarks, markedBy } from '../../src/process/harness-mark.ts';
import type { ProcessFact } from '../../src/process/process-table.ts';
import { doubtAboutMarks } from '../../src/process/tree-doubt.ts';
import { fact, fakeTable, HERE } from './fake-table.ts';

const MARK = 'HARNESS_PID=100';
/** Born in hundredths of a second: at 10 s. */
const harness = { ...HERE, pid: 100, startTime: '1000' };
const itself = fact(100, 7);

function judge(facts: readonly ProcessFact[], marked: readonly number[], untilMs: number | null) {
  const table = fakeTable(facts, { [MARK]: marked });
  const marks = harnessMarks(harness, [MARK], () => untilMs);
  const { its, doubtful } = markedBy(table, facts, marks);
  const doubt = doubtAboutMarks(table, marks);
  return {
    its: its.map(({ pid }) => pid),
    doubtful: doubtful.map(({ pid }) => pid),
    told: facts.map(({ pid }) => pid).filter((pid) => doubt?.includes(`(pid ${pid})`)),
  };
}

describe('while the harness lives, what bears its mark', () => {
  it('is its own, wherever it is, unless it is older', () => {
    const facts = [fact(50, 1), itself, fact(200, 1), fact(300, 1)];
    expect(judge(facts, [50, 200], null)).toEqual({ its: [200], doubtful: [], told: [] });
  });
});

describe('when the harness is gone, what bears its mark', () => {
  const left = [fact(200, 1), fact(300, 1)];

  it('is its own when it was started while the harness was seen', () => {
    expect(judge(left, [200, 300], 30_000)).toEqual({ its: [200, 300], doubtful: [], told: [] });
  });

  it('may be another’s when it came later, and is never signalled for it', () => {
    expect(judge(left, [200, 300], 29_990)).toEqual({ its: [200], doubtful: [300], told: [300] });
  });

  it('may be another’s, all of it, when nobody knows until when it lived', () => {
    expect(judge(left, [200, 300], null)).toEqual({ its: [], doubtful: [200, 300], told: [200, 300] });
  });

  it('is its own when it was started before a look that still saw the harness, whatever is on record yet', () => {
    const later = fact(400, 1);
    const table = fakeTable([...left, later], { [MARK]: [200, 300, 400] });
    const marks = harnessMarks(harness, [MARK]);
    markedBy(fakeTable([itself, ...left]), [itself, ...left], marks);
    const { its, doubtful } = markedBy(table, table.all(), marks);
    expect({ its, doubtful }).toEqual({ its: left, doubtful: [later] });
  });

  it('is judged by whether the harness lives when its bearers are known, not when the list was read', () => {
    const late = fact(600, 1);
    const table = fakeTable([late], { [MARK]: [600] });
    const { its, doubtful } = markedBy(table, [itself, fact(200, 1)], harnessMarks(harness, [MARK]));
    expect({ its, doubtful }).toEqual({ its: [], doubtful: [late] });
  });

  it('is its own when it descends from what is', () => {
    const facts = [fact(200, 1), fact(300, 200), fact(301, 300)];
    expect(judge(facts, [200, 300], 20_000)).toEqual({ its: [200, 300, 301], doubtful: [], told: [] });
  });

  it('is another’s when a parent that is not its own is there for it', () => {
    const later = [fact(100, 7, { startTime: '5000' }), fact(600, 100), fact(601, 600)];
    expect(judge(later, [600, 601], 20_000)).toEqual({ its: [], doubtful: [], told: [] });
  });
});

it('in another boot or pid namespace nobody is its own', () => {
  const table = fakeTable([itself, fact(200, 1)], { [MARK]: [200] });
  for (const elsewhere of [{ boot: 'boot-0' }, { pidNamespace: 'pid:[2]' }]) {
    const marks = harnessMarks({ ...harness, ...elsewhere }, [MARK], () => 99_000);
    expect(markedBy(table, table.all(), marks)).toEqual({ its: [], doubtful: [] });
  }
});
