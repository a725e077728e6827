/** The log of failures that nobody foresaw, however often somebody causes them. */
import { expect, it } from 'vitest';
import { unforeseen } from '../../src/daemon/http/unforeseen.ts';

const MINUTE_MS = 60_000;

const failing = (sent: string) => new Error(`cannot read ${sent}`);

it('a failure is written once a minute with its stack, and then with how often it came', () => {
  const lines: string[] = [];
  const fail = unforeseen((text) => lines.push(text));
  const many = Array.from({ length: 1_000 }, (_, each) => [`text ${each}`, each] as const);
  // All from one place, as those are that a daemon meets.
  for (const [text, atMs] of [...many, ['the next', MINUTE_MS], ['the last', 3 * MINUTE_MS]] as const)
    fail('/v1/run', failing(text), atMs);
  expect(lines).toEqual([
    expect.stringMatching(/^\/v1\/run failed: Error: cannot read text 0\n +at /),
    expect.stringContaining('/v1/run failed (and 999 times more before): Error: cannot read the next'),
    expect.stringContaining('/v1/run failed: Error: cannot read the last'),
  ]);
});

it('another failure is written meanwhile', () => {
  const lines: string[] = [];
  const fail = unforeseen((text) => lines.push(text));
  fail('/v1/run', failing('one'), 0);
  fail('/v1/stop', failing('one'), 0);
  fail('/v1/run', new TypeError('elsewhere'), 0);
  expect(lines.map((line) => line.split('\n')[0])).toEqual([
    '/v1/run failed: Error: cannot read one',
    '/v1/stop failed: Error: cannot read one',
    '/v1/run failed: TypeError: elsewhere',
  ]);
});

it('of failures at more places than there are, those beyond are told together', () => {
  const lines: string[] = [];
  const fail = unforeseen((text) => lines.push(text));
  for (let each = 0; each < 1_000; each += 1) fail(`/${each}`, failing('one'), 0);
  expect(lines).toHaveLength(101);
});
