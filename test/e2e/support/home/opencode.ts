import { DUMMY_KEY, installed, writeIn, writeJsonIn } from './home.ts';
import type { Furnish } from './home.ts';

export const opencode: Furnish = ({ home }, modelUrl) => {
  // At each start it installs a package for plugins beside its configuration, and goes on when that fails.
  writeIn(home, '.npmrc', 'registry=http://127.0.0.1:9/\nfetch-retries=0\n');
  writeJsonIn(home, '.config/opencode/opencode.json', {
    autoupdate: false,
    share: 'disabled',
    model: 'loopback/fake-model',
    small_model: 'loopback/fake-model',
    permission: { bash: 'ask' },
    provider: {
      loopback: {
        // This one is inside the program; any other it would fetch.
        npm: '@ai-sdk/openai-compatible',
        name: 'Loopback',
        options: { baseURL: `${modelUrl}/v1`, apiKey: DUMMY_KEY },
        models: { 'fake-model': { name: 'fake-model', limit: { context: 100_000, output: 10_000 } } },
      },
    },
  });
  const freely = ['run', '--format', 'json', '--auto'];
  return {
    program: [installed(`opencode-${process.platform}-${process.arch}`, 'bin', 'opencode')],
    // npm's install script replaces bin/opencode.exe by the program.
    wrapper: null,
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
    headless: (prompt) => [...freely, prompt],
    headlessResume: (id, prompt) => [...freely, '--session', id, prompt],
    interactive: () => [],
    interactiveResume: (id) => ['--session', id],
    ready: /ctrl\+p commands/u,
  };
};
