/**
 * The variables by which harnesses mark what they start as part of one of their sessions, of all harnesses known.
 * Credentials and settings are not among them: those a harness needs.
 */
export const SESSION_VARIABLES: ReadonlySet<string> = new Set([
  // Claude Code
  'CLAUDECODE',
  'CLAUDE_PID',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_MESSAGING_SOCKET',
  'CLAUDE_CODE_MESSAGING_TOKEN',
  'CLAUDE_CODE_SSE_PORT',
  'CLAUDE_CODE_EXECPATH',
  'CLAUDE_PROJECT_DIR',
  'CLAUDE_ENV_FILE',
  'AI_AGENT',
  // Codex, and Every Code, which descends from it
  'CODEX_THREAD_ID',
  'CODEX_SESSION_ID',
  'CODEX_TOOL_CALL_ID',
  'CODEX_CI',
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'CODE_THREAD_ID',
  'CODE_SESSION_ID',
  // Gemini CLI
  'GEMINI_SESSION_ID',
  'GEMINI_CLI',
  'GEMINI_CWD',
  'GEMINI_PROJECT_DIR',
  'GEMINI_PLANS_DIR',
  // opencode
  'OPENCODE',
  'OPENCODE_PID',
  'OPENCODE_SESSION_ID',
  'OPENCODE_RUN_ID',
]);
