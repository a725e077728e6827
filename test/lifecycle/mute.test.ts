import { describe, expect, test } from 'vitest';
import { isMuted, muteAt } from '../../src/lifecycle/mute.ts';

const muted = (data: object = {}) => ({ seq: 5, kind: 'notify.muted', data: { ...data } });

describe('a session', () => {
  test.each([
    ['nobody muted it', null, null],
    ['its mute was ended', { ...muted({ untilMs: 100 }), kind: 'notify.unmuted' }, null],
    ['its mute is over', muted({ untilMs: 50 }), null],
    ['its mute ends in a moment', muted({ untilMs: 51 }), { untilMs: 51 }],
    ['it is muted for good', muted({ untilMs: null }), { untilMs: null }],
    ['its mute does not say until when', muted(), { untilMs: null }],
  ])('when %s, is muted accordingly', (_, latest, expected) => {
    expect(muteAt(latest, 50)).toEqual(expected);
  });
});

describe('an event', () => {
  test.each([
    ['after a mute for good', muted({ untilMs: null }), { seq: 6, atMs: 1_000 }, true],
    ['before the mute, and read after it', muted({ untilMs: null }), { seq: 4, atMs: 1_000 }, false],
    ['within the mute, and read when it was over', muted({ untilMs: 100 }), { seq: 6, atMs: 99 }, true],
    ['at the end of the mute', muted({ untilMs: 100 }), { seq: 6, atMs: 100 }, false],
    ['without a mute', null, { seq: 6, atMs: 1 }, false],
    ['after an unmute', { ...muted(), kind: 'notify.unmuted' }, { seq: 6, atMs: 1 }, false],
  ])('%s is muted or not', (_, latest, event, expected) => {
    expect(isMuted(latest, event)).toBe(expected);
  });
});
