/**
 * opencode has no hook settings; it loads plugins. Ours runs the hook's command with a payload of the same shape as
 * other harnesses' hooks get on stdin: `hook_event_name`, `session_id`, `cwd`. The names of the events are opencode's own.
 */
import { HOOK_TIMEOUT_SECONDS } from '../hook-events.ts';
import { markedCommand } from './target.ts';

/** A session began, a turn started, somebody is asked, an answer came, work went on, a turn ended, a session is gone. */
export const OPENCODE_EVENTS = [
  'session.created',
  'chat.message',
  'permission.asked',
  'question.asked',
  'permission.replied',
  'question.replied',
  'tool.execute.after',
  'session.idle',
  'session.deleted',
] as const;

const FIRST_LINE =
  '// Reeve: tells it how sessions stand. `reeve hooks remove opencode` takes this file away.';

export function isOurPlugin(text: string): boolean {
  return text.startsWith(FIRST_LINE);
}

/** opencode calls every exported function as a plugin, in all of its 1.x versions, so there is exactly one. */
export function pluginText(command: string): string {
  const told = OPENCODE_EVENTS.filter((name) => name !== 'chat.message' && name !== 'tool.execute.after');
  return `${FIRST_LINE}
import { spawnSync } from 'node:child_process';

const COMMAND = ${JSON.stringify(markedCommand(command))};
const TOLD = new Set(${JSON.stringify(told)});

export const ReeveHooks = async ({ directory }) => {
  const parents = new Map();
  // At once and in order: opencode may exit right after a turn, and a lost end of turn would look like work.
  const tell = (event, session) => {
    if (typeof session !== 'string') return;
    const payload = { hook_event_name: event, session_id: session, cwd: directory, opencode_pid: process.pid };
    const parent = parents.get(session);
    if (parent !== undefined) payload.parent_session_id = parent;
    try {
      spawnSync('sh', ['-c', COMMAND], {
        input: JSON.stringify(payload),
        stdio: ['pipe', 'ignore', 'ignore'],
        timeout: ${HOOK_TIMEOUT_SECONDS * 1000},
      });
    } catch {
      // Reeve must never be the reason that opencode fails.
    }
  };
  return {
    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {};
      if (event.type === 'session.created' && info?.parentID) parents.set(info.id, info.parentID);
      if (TOLD.has(event.type)) tell(event.type, sessionID ?? info?.id);
      if (event.type === 'session.deleted') parents.delete(sessionID ?? info?.id);
    },
    'chat.message': async ({ sessionID }) => tell('chat.message', sessionID),
    'tool.execute.after': async ({ sessionID }) => tell('tool.execute.after', sessionID),
  };
};
`;
}
