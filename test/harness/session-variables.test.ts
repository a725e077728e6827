import { describe, expect, it } from 'vitest';
import { SESSION_VARIABLES } from '../../src/harness/session-variables.ts';

/** As seen in the environment of tools and hooks that the real programs started. */
const SEEN: Readonly<Record<string, readonly string[]>> = {
  'Claude Code 2.1.325': [
    'CLAUDECODE',
    'CLAUDE_PID',
    'CLAUDE_CODE_SESSION_ID',
    'CLAUDE_CODE_CHILD_SESSION',
    'CLAUDE_CODE_ENTRYPOINT',
    'CLAUDE_CODE_MESSAGING_SOCKET',
    'CLAUDE_CODE_MESSAGING_TOKEN',
    'AI_AGENT',
  ],
  'Codex 0.166.0': ['CODEX_THREAD_ID', 'CODEX_SESSION_ID', 'CODEX_TOOL_CALL_ID', 'CODEX_CI'],
  'Gemini CLI 0.61.0': ['GEMINI_CLI', 'GEMINI_SESSION_ID'],
  'opencode 1.18.33': ['OPENCODE_PID'],
};

/** Without these a harness cannot reach its model, finds other settings, or behaves otherwise than its user asked. */
const NEEDED = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_MODEL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  'CLAUDE_CODE_MAX_RETRIES',
  'CLAUDE_CONFIG_DIR',
  'DISABLE_AUTOUPDATER',
  'IS_SANDBOX',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'CODEX_HOME',
  'CODEX_API_KEY',
  'CODE_HOME',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GEMINI_CLI_NO_RELAUNCH',
  'OPENCODE_CONFIG',
  'OPENROUTER_API_KEY',
  'GITHUB_TOKEN',
  'GH_TOKEN',
  'AWS_PROFILE',
  'PATH',
  'HOME',
  'TERM',
  'TMPDIR',
  'SSH_AUTH_SOCK',
];

describe('the variables that mark a session', () => {
  it.each(Object.entries(SEEN))('include all by which %s marks what it starts', (_, names) => {
    expect(names.filter((name) => !SESSION_VARIABLES.has(name))).toEqual([]);
  });

  it('include no credential and no setting', () => {
    expect(NEEDED.filter((name) => SESSION_VARIABLES.has(name))).toEqual([]);
  });
});
