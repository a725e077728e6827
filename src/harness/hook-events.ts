/**
 * The hook events by which a harness tells what Reeve wants to know, as that harness names them: that a session began,
 * a turn started, somebody is asked for something, work went on, a turn ended, the session ended.
 * Every Code and opencode have none; opencode has plugins instead.
 */
export const HOOK_EVENTS = {
  claude: [
    'SessionStart',
    'UserPromptSubmit',
    'PermissionRequest',
    'Notification',
    'PostToolUse',
    'Stop',
    'SessionEnd',
  ],
  codex: ['SessionStart', 'UserPromptSubmit', 'PermissionRequest', 'PostToolUse', 'Stop', 'SessionEnd'],
  gemini: ['SessionStart', 'BeforeAgent', 'Notification', 'AfterTool', 'AfterAgent', 'SessionEnd'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/**
 * A hook hands its payload over in milliseconds; a harness that waits longer than this for it goes on. Codex gives its
 * SessionEnd hooks no more than this, and trusts one that asks for more under another hash.
 */
export const HOOK_TIMEOUT_SECONDS = 3;
