import { expect, it } from 'vitest';
import { openChanges } from '../../src/daemon/changes.ts';
import { createHealth, isWell } from '../../src/daemon/health.ts';
import { startLoop } from '../../src/daemon/loop.ts';

/** Longer than any test takes: only a poke begins another round. */
const NEVER_MS = 1e9;

function counted(answer: (round: number) => string) {
  let rounds = 0;
  let going = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  return {
    round: async () => {
      going += 1;
      most = Math.max(most, going);
      await new Promise((resolve) => setImmediate(resolve));
      going -= 1;
      rounds += 1;
      for (const wake of waiting.splice(0)) wake();
      return answer(rounds);
    },
    rounds: () => rounds,
    mostAtOnce: () => most,
    async reaches(count: number) {
      while (rounds < count) await new Promise<void>((resolve) => waiting.push(resolve));
      // What the round answered is taken behind it.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

it('a part that fails says so once, stops no other, and is good again when it is', async () => {
  const health = createHealth(() => 0);
  const said: string[] = [];
  const failing = counted((round) => {
    if (round <= 3) throw new Error('no disk');
    return 'fine';
  });
  const other = counted(() => 'well');
  const parts = [
    { name: 'failing', everyMs: 1, round: failing.round },
    { name: 'other', everyMs: 1, round: other.round },
  ];
  const loop = startLoop(parts, health, (text) => said.push(text));
  await failing.reaches(2);
  expect(health.parts()['failing']).toMatchObject({ is: 'broken', says: 'no disk' });
  expect(isWell(health.parts())).toBe(false);
  await Promise.all([failing.reaches(5), other.reaches(5)]);
  await loop.close();
  expect(health.parts()).toMatchObject({ failing: { is: 'good', says: 'fine' }, other: { is: 'good' } });
  expect(said).toEqual(['failing: no disk']);
});

it('a poke begins the next round at once, also one given during a round, and rounds never overlap', async () => {
  const part = counted(() => '');
  const loop = startLoop([{ name: 'a', everyMs: NEVER_MS, round: part.round }], createHealth(), () => {});
  loop.poke('a');
  await part.reaches(2);
  loop.poke('a');
  loop.poke('a');
  await part.reaches(3);
  await loop.close();
  expect(part.mostAtOnce()).toBe(1);
  expect(part.rounds()).toBeLessThan(6);
});

it('a health keeps since when it is so, and asks those who know by themselves', () => {
  let now = 0;
  const health = createHealth(() => now);
  health.report('a', 'broken', 'one reason');
  now = 60_000;
  health.report('a', 'broken', 'another');
  health.ask('b', () => ({ is: 'off', says: 'not wanted' }));
  expect(health.parts()).toEqual({
    a: { is: 'broken', says: 'another', since: new Date(0).toISOString() },
    b: { is: 'off', says: 'not wanted', since: new Date(60_000).toISOString() },
  });
});

it('whoever waits for a change hears of one that came before he waited, of one after, and of the end', async () => {
  let tell: () => void = () => {};
  let isWatched = true;
  const changes = await openChanges(
    async (listener) => {
      tell = listener;
      return () => (isWatched = false);
    },
    async () => 0,
  );
  const leave = new AbortController();
  const before = changes.version();
  tell();
  await changes.after(before, leave.signal);
  const now = changes.version();
  const waiting = changes.after(now, leave.signal);
  tell();
  await waiting;
  const last = changes.after(changes.version(), leave.signal);
  leave.abort();
  await last;
  await changes.after(changes.version(), leave.signal);
  changes.close();
  expect(isWatched).toBe(false);
});
