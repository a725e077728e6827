import { DUMMY_KEY, installed, writeIn } from './home.ts';
import type { Furnish } from './home.ts';

const TARGETS: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};

export const codex: Furnish = ({ home, work }, modelUrl) => {
  const platform = `${process.platform}-${process.arch}`;
  const target = TARGETS[platform] ?? platform;
  writeIn(home, '.codex/config.toml', configuration(work, modelUrl));
  const freely = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  // The model has to wish for more than the sandbox grants; then a person is asked.
  const asking = ['--ask-for-approval', 'on-request', '--sandbox', 'read-only'];
  return {
    program: [installed(`@openai/codex-${platform}`, 'vendor', target, 'bin', 'codex')],
    wrapper: [process.execPath, installed('.bin', 'codex')],
    env: { CODEX_HOME: `${home}/.codex`, MODEL_SERVER_KEY: DUMMY_KEY },
    headless: (prompt) => ['exec', ...freely, prompt],
    headlessResume: (id, prompt) => ['exec', ...freely, 'resume', id, prompt],
    interactive: () => asking,
    interactiveResume: (id) => ['resume', ...asking, id],
    ready: /^› .*\S[\s\S]*\? for shortcuts/mu,
  };
};

function configuration(work: string, modelUrl: string): string {
  return `model = "gpt-5.5"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "Loopback"
base_url = "${modelUrl}/v1"
env_key = "MODEL_SERVER_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

# Otherwise the terminal program starts a detached server that owns the turn and outlives it.
[features]
daemon_auto_start = false

[analytics]
enabled = false

# Otherwise the first start in a terminal praises a newer model and waits for an answer.
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects.${JSON.stringify(work)}]
trust_level = "trusted"
`;
}
