/** Settings that change under a notifier. What the daemon makes of it is in notify-served.test.ts. */
import { expect, it } from 'vitest';
import type { Notifier } from '../../src/daemon/notifications/notifier.ts';
import { openRereadNotifier } from '../../src/daemon/notifications/reread.ts';
import { parseConfig } from '../../src/supervisor/parse-config.ts';

type Event = Parameters<Notifier['take']>[0];

it('what comes while a change of settings fails half-way is taken by the notifier that comes of it', async () => {
  const settingsOf = (text: string) => {
    const parsed = parseConfig(text);
    if (parsed.is === 'wrong') throw new Error(parsed.problem);
    return parsed.config.notify;
  };
  const event = (seq: number): Event => ({
    seq,
    atMs: 0,
    sessionId: 's-1',
    runId: null,
    kind: 'test.event',
    data: {},
  });
  let text = '[notify]\n';
  let isBroken = false;
  const taken: (readonly [string, number])[] = [];
  const notifier = openRereadNotifier(
    () => settingsOf(text),
    (_settings, how) => {
      if (isBroken) throw new Error('the disk is full');
      return {
        take: ({ seq }) => void taken.push([how, seq]),
        close: async () => {},
        health: () => ({ is: 'good', says: '' }),
        lastSeq: () => null,
      };
    },
  );
  notifier.take(event(1));
  [text, isBroken] = ['[notify]\nbell = true\n', true];
  await expect(notifier.reread()).rejects.toThrow('the disk is full');
  notifier.take(event(2));
  isBroken = false;
  expect(await notifier.reread()).toBe('changed');
  notifier.take(event(3));
  expect(await notifier.reread()).toBe('as before');
  expect(taken).toEqual([
    ['first', 1],
    ['again', 2],
    ['again', 3],
  ]);
});
