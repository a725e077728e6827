import { DUMMY_KEY, installed, writeJsonIn } from './home.ts';
import type { Furnish } from './home.ts';

const PACKAGE = '@anthropic-ai/claude-code';

export const claude: Furnish = ({ home, work }, modelUrl) => {
  // Without this the first interactive start asks for theme, key and trust, and calls its maker's host.
  writeJsonIn(home, '.claude.json', {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: [DUMMY_KEY], rejected: [] },
    projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  });
  const printing = ['--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash'];
  const asking = ['--permission-mode', 'manual'];
  return {
    program: [installed(`${PACKAGE}-${process.platform}-${process.arch}`, 'claude')],
    // npm's install script replaces bin/claude.exe by the program; without scripts this is left to start it.
    wrapper: [process.execPath, installed(PACKAGE, 'cli-wrapper.cjs')],
    env: {
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: DUMMY_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_MAX_RETRIES: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    },
    headless: (prompt) => ['-p', prompt, ...printing],
    headlessResume: (id, prompt) => ['-p', prompt, '--resume', id, ...printing],
    interactive: () => asking,
    interactiveResume: (id) => ['--resume', id, ...asking],
    withId: (id) => ['--session-id', id],
    ready: /\? for shortcuts/u,
  };
};
