/**
 * opencode's plugin: hands what happens in a session over to Reeve, in the shape in which other harnesses call their
 * hooks, as messages of the form that hook.sh writes. It decides nothing and never fails the harness.
 */
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

let number = 0;
/** The ids of subagents' sessions, each with its parent's. */
const parents = new Map();
/** The ids of prompts whose text has not come yet. */
const prompts = new Set();

export const Reeve = async () => ({
  event: async ({ event }) => {
    try {
      const report = reportOf(event);
      if (report !== null) hand(report);
    } catch {
      // Reeve is away or broken: opencode goes on.
    }
  },
});

function reportOf({ type, properties = {} }) {
  const info = properties.info ?? {};
  switch (type) {
    case 'session.created':
      if (info.parentID !== undefined) parents.set(info.id, info.parentID);
      return named('SessionStart', info.id);
    case 'message.updated':
      if (info.role === 'user') prompts.add(info.id);
      return null;
    case 'message.part.updated': {
      const { part } = properties;
      // A prompt comes as a message, and then its text, over and over while anything about it changes.
      if (part?.type !== 'text' || part.synthetic === true || !prompts.delete(part.messageID)) return null;
      return { ...named('UserPromptSubmit', part.sessionID), prompt: part.text };
    }
    case 'session.status':
      return properties.status?.type === 'busy' ? named('PostToolUse', properties.sessionID) : null;
    case 'session.idle':
      return named('Stop', properties.sessionID);
    case 'permission.asked':
    case 'permission.updated':
      return {
        ...named('PermissionRequest', properties.sessionID),
        tool_name: properties.permission ?? properties.type,
      };
    case 'permission.replied':
      return named('PostToolUse', properties.sessionID);
    default:
      return null;
  }
}

function named(event, sessionId) {
  const parent = parents.get(sessionId);
  return {
    session_id: sessionId,
    hook_event_name: event,
    ...(parent === undefined ? {} : { parent_id: parent }),
  };
}

function hand(report) {
  const run = process.env.REEVE_REPORT_TO ?? installedRun();
  if (run === null) return;
  const spool = join(run, 'hooks');
  if (!existsSync(spool) || existsSync(join(run, 'exit.json'))) return;
  const origin = process.env.REEVE_REPORT_TO === undefined ? 'installed' : 'launch';
  const text = `${origin} ${basename(run)} ${process.pid} ${process.ppid}\n${JSON.stringify(report)}\nwhole\n`;
  number += 1;
  const name = `${process.pid}.p${String(number).padStart(6, '0')}`;
  writeFileSync(join(spool, `.${name}`), text, { mode: 0o600 });
  renameSync(join(spool, `.${name}`), join(spool, name));
}

function installedRun() {
  const { REEVE_HOME: home, REEVE_RUN: run } = process.env;
  return home && run ? join(home, 'runs', run) : null;
}
