/** opencode's plugin, in a process of its own as opencode loads it: the same messages as hook.sh's. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { finished } from '../support/sandbox.ts';

const PLUGIN = fileURLToPath(new URL('../../src/hook/opencode-plugin.mjs', import.meta.url));

let root: string;
let run: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-plugin-'));
  run = join(root, 'state', 'runs', 'r-1');
  mkdirSync(join(run, 'hooks'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Gives it these events, one after another; its exit is clean only if it never failed. */
async function tell(events: readonly object[], env: Record<string, string>): Promise<void> {
  const script = `
    const { Reeve } = await import(process.argv[1]);
    const { event } = await Reeve();
    for (const each of JSON.parse(process.argv[2])) await event({ event: each });`;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, PLUGIN, JSON.stringify(events)],
    { env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const { code, stdout, stderr } = await finished(child);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
}

function spooled(): { head: string; payload: unknown; end: string }[] {
  return readdirSync(join(run, 'hooks'))
    .toSorted()
    .map((name) => {
      const [head = '', payload = '', ...end] = readFileSync(join(run, 'hooks', name), 'utf8').split('\n');
      return { head, payload: JSON.parse(payload) as unknown, end: end.join('\n') };
    });
}

const TURN = [
  { type: 'session.created', properties: { info: { id: 'ses_1' } } },
  { type: 'message.updated', properties: { info: { id: 'm1', role: 'user' } } },
  {
    type: 'message.part.updated',
    properties: { part: { type: 'text', messageID: 'm1', sessionID: 'ses_1', text: 'do it' } },
  },
  {
    type: 'message.part.updated',
    properties: { part: { type: 'text', messageID: 'm1', sessionID: 'ses_1', text: 'do it' } },
  },
  { type: 'session.status', properties: { sessionID: 'ses_1', status: { type: 'busy' } } },
  { type: 'session.status', properties: { sessionID: 'ses_1', status: { type: 'idle' } } },
  { type: 'permission.asked', properties: { sessionID: 'ses_1', permission: 'bash' } },
  { type: 'permission.replied', properties: { sessionID: 'ses_1' } },
  { type: 'session.idle', properties: { sessionID: 'ses_1' } },
];

it('tells a turn from its beginning to its end, each prompt once', async () => {
  await tell(TURN, { REEVE_REPORT_TO: run });
  const messages = spooled();
  expect(messages.map(({ payload }) => payload)).toEqual([
    { session_id: 'ses_1', hook_event_name: 'SessionStart' },
    { session_id: 'ses_1', hook_event_name: 'UserPromptSubmit', prompt: 'do it' },
    { session_id: 'ses_1', hook_event_name: 'PostToolUse' },
    { session_id: 'ses_1', hook_event_name: 'PermissionRequest', tool_name: 'bash' },
    { session_id: 'ses_1', hook_event_name: 'PostToolUse' },
    { session_id: 'ses_1', hook_event_name: 'Stop' },
  ]);
  for (const { head, end } of messages) {
    expect(head).toMatch(new RegExp(String.raw`^launch r-1 \d+ ${process.pid}$`));
    expect(end).toBe('whole\n');
  }
});

it('says of a subagent’s session whose child it is', async () => {
  const events = [
    { type: 'session.created', properties: { info: { id: 'ses_2', parentID: 'ses_1' } } },
    { type: 'session.idle', properties: { sessionID: 'ses_2' } },
  ];
  await tell(events, { REEVE_REPORT_TO: run });
  expect(spooled().map(({ payload }) => payload)).toEqual([
    { session_id: 'ses_2', hook_event_name: 'SessionStart', parent_id: 'ses_1' },
    { session_id: 'ses_2', hook_event_name: 'Stop', parent_id: 'ses_1' },
  ]);
});

it('when it was installed for all sessions, reports to the run in whose environment it is, as such', async () => {
  await tell(TURN.slice(0, 1), { REEVE_HOME: join(root, 'state'), REEVE_RUN: 'r-1' });
  expect(spooled().map(({ head }) => head.split(' ')[0])).toEqual(['installed']);
});

it.each([
  ['outside of any run', () => ({}), () => {}],
  ['when the run is gone', () => ({ REEVE_REPORT_TO: join(root, 'gone') }), () => {}],
  ['when the run is over', () => ({ REEVE_REPORT_TO: run }), () => writeFileSync(join(run, 'exit.json'), '')],
  [
    'when its spool cannot be written to',
    () => ({ REEVE_REPORT_TO: run }),
    () => {
      rmSync(join(run, 'hooks'), { recursive: true });
      writeFileSync(join(run, 'hooks'), '');
    },
  ],
])('never fails opencode, and says nothing: %s', async (_, env, prepare) => {
  prepare();
  await tell(
    [...TURN, {}, { type: 'session.created' }, { type: 'message.part.updated', properties: {} }],
    env(),
  );
});
