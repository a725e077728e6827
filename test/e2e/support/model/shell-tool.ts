import type { Asked } from './dialect.ts';

/** The longest that Codex waits for a command before it tells the model that it is still running. */
const CODEX_WAIT_MS = 30_000;

const CODEX_WISH = { sandbox_permissions: 'require_escalated', justification: 'May the test do this?' };

/** The shell tools that the harnesses offer to their models, and how each wants its command. */
const SHELL_TOOLS: Readonly<Record<string, (command: string, asked: Asked) => unknown>> = {
  // Claude Code
  Bash: (command) => ({ command, description: 'Run what the test asked for' }),
  // Gemini CLI
  run_shell_command: (command) => ({
    command,
    description: 'Run what the test asked for',
    is_background: false,
  }),
  // opencode
  bash: (command) => ({ command, description: 'Run what the test asked for' }),
  // Codex
  exec_command: (command, { mustAskForShell }) => ({
    cmd: command,
    yield_time_ms: CODEX_WAIT_MS,
    ...(mustAskForShell === true ? CODEX_WISH : {}),
  }),
};

export function shellCall(asked: Asked, command: string): { name: string; input: unknown } {
  for (const [name, inputOf] of Object.entries(SHELL_TOOLS)) {
    if (asked.tools.includes(name)) return { name, input: inputOf(command, asked) };
  }
  throw new Error(`None of the offered tools is a shell: ${asked.tools.join(', ')}`);
}
