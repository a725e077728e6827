/** What a refused request is told to do next: in operations and fields, for a program; in commands, for a terminal. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchIn } from '../support/launch.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openDaemon, told } from './support.ts';
import type { Daemon } from './support.ts';

let sandbox: Sandbox;
let daemon: Daemon;
beforeAll(async () => {
  sandbox = createSandbox();
  daemon = await openDaemon(sandbox);
  await launchIn(sandbox, 'live', 'sleep', '3600');
  await sandbox.reeve(['run', '-s', 'ended', '--', 'true']);
});
afterAll(async () => {
  await daemon.stop();
  await sandbox.cleanUp();
});

const run = (more: object) => ({ argv: ['true'], cwd: sandbox.root, ...more });

const REFUSED: readonly (readonly [string, string, string, () => object | undefined])[] = [
  ['409 live_owner', 'POST', '/v1/run', () => run({ session: 'live' })],
  ['409 live_owner', 'POST', '/v1/sessions/live/resume', () => ({ cwd: sandbox.root })],
  ['409 live_owner', 'DELETE', '/v1/sessions/live', () => undefined],
  ['409 live_owner', 'POST', '/v1/sessions/live/kill', () => ({ assumeGone: true })],
  ['404 not_found', 'GET', '/v1/sessions/nobody', () => undefined],
  ['404 not_found', 'POST', '/v1/sessions/nobody/stop', () => ({})],
  ['404 not_found', 'POST', '/v1/sessions/ended/attach', () => ({})],
  ['404 not_found', 'GET', '/v1/submissions/sub-nothing', () => undefined],
  ['404 not_found', 'GET', '/v1/reviews/rev-nothing', () => undefined],
  ['400 bad_directory', 'POST', '/v1/run', () => run({ cwd: '/not/there' })],
  ['400 bad_name', 'POST', '/v1/run', () => run({ session: '-x' })],
  ['400 usage', 'POST', '/v1/run', () => ({ argv: ['true'] })],
  ['400 usage', 'GET', '/v1/usage?since=never', () => undefined],
  ['409 no_log', 'GET', '/v1/sessions/ended/logs', () => undefined],
  ['404 not_found', 'POST', '/v1/adopt', () => ({ pid: 4_000_000 })],
];

it.each(REFUSED)(
  '%s of %s %s names no flag and no verb of the command line',
  async (code, method, path, body) => {
    const answer = await daemon.ask(method, path, { body: body() });
    expect(told(answer)).toBe(code);
    const { message, hint = '' } = answer.json().error;
    expect(`${message} ${hint}`).not.toMatch(/(^|[\s`(])--[a-z]|\breeve (?!serve|open)[a-z]/);
  },
);

it('speaks of fields to a program, of the page to the page, and of flags to the command line', async () => {
  const hints = await Promise.all(
    ['http', 'page', 'cli'].map(async (words) => {
      const headers = { 'reeve-words': words };
      const answer = await daemon.ask('POST', '/v1/run', { headers, body: run({ session: 'live' }) });
      return answer.json().error.hint?.split('    ').at(-1);
    }),
  );
  expect(hints).toEqual([
    'Take over: add "onLive": "retire"',
    'Take over: end it with “Retire…” first',
    'Take over: add --on-live retire',
  ]);
});
