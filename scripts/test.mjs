// `npm test`: everything that proves Reeve, from a fresh checkout after `npm ci`. With arguments, only those tests:
// `npm test -- test/store`. What the tests need beyond npm is installed where that may be done without asking.
// `npm run test:quick` (--quick): a minute's answer, which needs nothing but npm.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** How long the chaos program tries to break the promises in an ordinary test run. */
const CHAOS_SECONDS = '30';

/** The rules whole, and of each layer below a few real ones: the store, a keeper, a tree's end, runs and takeovers. */
const QUICK = [
  'test/lifecycle/',
  'test/api/',
  'test/bench/',
  'test/cli/background.test.ts',
  'test/cli/parse.test.ts',
  'test/process/end-tree.test.ts',
  'test/process/keeper.test.ts',
  'test/store/sqlite.test.ts',
  'test/supervisor/gone-command.test.ts',
  'test/supervisor/last-moments.test.ts',
  'test/supervisor/launchers.test.ts',
  'test/supervisor/library.test.ts',
  'test/supervisor/refused-takeover.test.ts',
];

process.chdir(new URL('..', import.meta.url).pathname);
const isQuick = process.argv[2] === '--quick';
const chosen = isQuick ? QUICK : process.argv.slice(2);

const missing = () => [
  ...(hasPostgres() ? [] : ['postgresql']),
  ...(onPath('pgbouncer') ? [] : ['pgbouncer']),
  ...(onPath('tmux') ? [] : ['tmux']),
  // Shells that complete Reeve's words, and what an example of the documents asks with: whoever has not got them goes
  // without those tests, but no test is skipped in CI.
  ...(process.env.CI === 'true' ? ['zsh', 'fish', 'curl', 'jq'].filter((program) => !onPath(program)) : []),
];
if (!isQuick) {
  if (missing().length > 0) install(missing());
  // The first takes a third of the other's time, and is not to be had everywhere.
  if (!hasBrowser('chromium-headless-shell')) install(['chromium-headless-shell']);
  if (!hasBrowser('chromium-headless-shell', 'chromium')) install(['chromium']);
  const still = [...missing(), ...(hasBrowser('chromium-headless-shell', 'chromium') ? [] : ['chromium'])];
  if (still.length > 0) {
    console.error(`The tests need programs that are not here: apt-get install ${still.join(' ')}.`);
    process.exit(1);
  }
}
run(process.execPath, ['scripts/build.mjs']);
if (chosen.length === 0)
  run('npx', ['--no-install', 'tsx', 'test/chaos/main.ts', '--seconds', CHAOS_SECONDS]);
// Last, so that the tests which were left out are named at the end.
run('npx', ['--no-install', 'vitest', 'run', ...chosen], { REEVE_TEST_BUILT: '1' });

/** Ends this program with the command's own code when that is not 0. */
function run(command, args, env = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (error !== undefined) console.error(`${command} could not be run: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** The places in which test/support/postgres.ts looks too. */
function hasPostgres() {
  const directories = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...entriesOf('/usr/lib/postgresql').map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...['/opt/homebrew/opt', '/usr/local/opt'].flatMap((opt) =>
      entriesOf(opt).map((formula) => `${opt}/${formula}/bin`),
    ),
  ];
  return directories.some((directory) =>
    ['initdb', 'postgres', 'pg_basebackup', 'pg_dump', 'psql'].every((program) =>
      existsSync(join(directory, program)),
    ),
  );
}

function hasBrowser(...programs) {
  return process.env.REEVE_CHROMIUM !== undefined || programs.some(onPath);
}

function entriesOf(directory) {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function onPath(program) {
  // Where Debian puts servers, which a user's own path may lack.
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return directories.some((directory) => existsSync(join(directory, program)));
}

/** Only as root or with a sudo that asks for nothing; otherwise a person decides. */
function install(packages) {
  const prefix = process.getuid() === 0 ? [] : ['sudo', '-n'];
  const quietly = (...command) => spawnSync(command[0], command.slice(1), { stdio: 'ignore' }).status === 0;
  if (!quietly('apt-get', '--version') || !quietly(...prefix, 'true')) return;
  console.log(`Installing what the tests need: ${packages.join(' ')}.`);
  const aptGet = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const [command, ...rest] = [...aptGet, ...args];
    if (spawnSync(command, rest, { stdio: 'inherit' }).status !== 0) return;
  }
}
