// Installs the real harness programs for the end-to-end tests, exactly as locked, and lets each say its version.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const FOLDER = fileURLToPath(new URL('../test/e2e/harness', import.meta.url));

/** A program that does not even say its version in this time hangs. */
const VERSION_LIMIT_MS = 60_000;

const platform = `${process.platform}-${process.arch}`;
const PROGRAMS = {
  claude: ['@anthropic-ai/claude-code', [`@anthropic-ai/claude-code-${platform}/claude`]],
  codex: ['@openai/codex', [process.execPath, '.bin/codex']],
  gemini: ['@google/gemini-cli', [process.execPath, '@google/gemini-cli/bundle/gemini.js']],
  opencode: ['opencode-ai', [`opencode-${platform}/bin/opencode`]],
};

if (!isInstalled()) {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: FOLDER, stdio: ['ignore', 2, 2] });
  if (status !== 0)
    fail(`The harnesses could not be installed: npm ci in test/e2e/harness exited ${status}.`);
  if (!isInstalled())
    fail('The harnesses are not as test/e2e/harness/package-lock.json says, even after npm ci.');
}
for (const [name, [packageName, command]] of Object.entries(PROGRAMS)) {
  const wanted = readJson('package.json').dependencies[packageName];
  const said = versionOf(command);
  if (!said.includes(wanted))
    fail(`${name} ${wanted} is installed, but the program says: ${said || 'nothing'}.`);
  console.log(`${name}: ${said}`);
}

/** What npm writes about the tree it installed, against the lock: no look at the tree itself, hence fast. */
function isInstalled() {
  let installed;
  try {
    installed = readJson('node_modules/.package-lock.json').packages;
  } catch {
    return false;
  }
  const { '': root, ...locked } = readJson('package-lock.json').packages;
  const missing = Object.keys(locked).filter((path) => !(path in installed));
  return (
    isDeepStrictEqual(root.dependencies, readJson('package.json').dependencies) &&
    Object.entries(installed).every(([path, { version }]) => locked[path]?.version === version) &&
    missing.every((path) => locked[path].optional === true || locked[path].peer === true)
  );
}

function versionOf([program, ...args]) {
  const installed = (path) => (path === process.execPath ? path : join(FOLDER, 'node_modules', path));
  // Some write into their home even then, and it must not be the caller's.
  const home = mkdtempSync(join(tmpdir(), 'reeve-harness-version-'));
  const env = { PATH: process.env.PATH, HOME: home, GEMINI_CLI_NO_RELAUNCH: 'true' };
  const options = { env, cwd: home, encoding: 'utf8', timeout: VERSION_LIMIT_MS };
  const { stdout } = spawnSync(installed(program), [...args.map(installed), '--version'], options);
  rmSync(home, { recursive: true, force: true });
  return stdout?.trim() ?? '';
}

function readJson(path) {
  return JSON.parse(readFileSync(join(FOLDER, path), 'utf8'));
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
