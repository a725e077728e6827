/**
 * Other builds than today's: an earlier one from this repository's own history, and the next one with a newer schema. They
 * have the programs, without the page, and the dependencies that are installed now.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { SCHEMA_VERSION } from '../../src/store/schema-version.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

export interface OtherBuild {
  /** Its place, with its `dist`. */
  readonly root: string;
  /** As it calls itself. */
  readonly name: string;
  readonly remove: () => void;
}

/** Today's build. */
export const TODAY = {
  root: REPOSITORY,
  get name(): string {
    const text = readFileSync(join(REPOSITORY, 'dist', 'build.json'), 'utf8');
    return (JSON.parse(text) as { build: string }).build;
  },
};

/** The build of an earlier commit. */
export function buildFromHistory(commit: string): Promise<OtherBuild> {
  return build(commit.slice(0, 12), (root) => extract(commit, root));
}

/** What comes after today's: the same with one more step of the schema. */
export function buildNext(): Promise<OtherBuild> {
  return build('next', (root) => {
    for (const name of ['src', 'package.json'])
      cpSync(join(REPOSITORY, name), join(root, name), { recursive: true });
    edit(
      join(root, 'src/store/schema-version.ts'),
      `VERSION = ${SCHEMA_VERSION};`,
      `VERSION = ${SCHEMA_VERSION + 1};`,
    );
    const step = `() => ['create table of_the_next_build (id text primary key)']`;
    edit(join(root, 'src/store/migrations.ts'), '\n];\n', `\n  ${step},\n];\n`);
  });
}

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${path} has not exactly one: ${from}`);
  writeFileSync(path, text.replace(from, to));
}

async function build(name: string, fill: (root: string) => void): Promise<OtherBuild> {
  const root = mkdtempSync(join(tmpdir(), 'reeve-build-'));
  const remove = () => rmSync(root, { recursive: true, force: true });
  try {
    fill(root);
    symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
    await bundle(root, name);
    return { root, name, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Whoever runs the tests from a hook of git has variables that name another repository. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')),
);
/** The sources are a megabyte or two. */
const MAX_ARCHIVE_BYTES = 64 * 1024 * 1024;

/** Never skipped: an upgrade that nobody tried must not look like one that works. */
function extract(commit: string, root: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', REPOSITORY, ...args], {
      env: ENVIRONMENT,
      maxBuffer: MAX_ARCHIVE_BYTES,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  let archive: Buffer;
  try {
    git('cat-file', '-e', `${commit}^{tree}`);
    archive = git('archive', '--format=tar', commit, 'src', 'package.json');
  } catch (error) {
    throw new Error(
      `This test builds an earlier Reeve from commit ${commit}, which cannot be read here. It needs a clone with its whole history, not an archive or a shallow clone: git fetch --unshallow`,
      { cause: error },
    );
  }
  execFileSync('tar', ['-x', '-C', root], { input: archive });
}

/** As scripts/build.mjs of every build so far has it, but for how the code is divided into files. */
async function bundle(root: string, name: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const named = JSON.stringify({ version, build: name });
  const source = (path: string) => join(root, 'src', path);
  const dist = join(root, 'dist');
  const bundled = await rolldown({
    cwd: root,
    input: {
      reeve: source('cli/main.ts'),
      finaliser: source('finaliser/main.ts'),
      watcher: source('watcher/main.ts'),
    },
    platform: 'node',
    external: ['@photostructure/sqlite', 'pg-native'],
    transform: { define: { REEVE_BUILD: named } },
    resolve: { mainFields: ['module', 'main'] },
    logLevel: 'silent',
  });
  await bundled.write({
    dir: dist,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
  });
  await bundled.close();
  for (const each of ['process/keeper.pl', 'hook/hook.sh', 'hook/opencode-plugin.mjs'])
    copyFileSync(source(each), join(dist, basename(each)));
  chmodSync(join(dist, 'reeve.cjs'), 0o755);
  writeFileSync(join(dist, 'build.json'), named);
}

export interface OtherInstallation {
  readonly cli: string;
  /** Puts another build in its place, on the same paths, as an update by npm does. */
  update(to: Pick<OtherBuild, 'root'>): void;
}

export function install(place: string, first: Pick<OtherBuild, 'root'>): OtherInstallation {
  const dist = join(place, 'dist');
  const put = ({ root }: Pick<OtherBuild, 'root'>) => {
    const name = join(root, 'dist', 'build.json');
    cpSync(join(root, 'dist'), dist, { recursive: true, filter: (path) => path !== name });
    copyFileSync(join(root, 'package.json'), join(place, 'package.json'));
    // Last: by it a daemon knows that it was replaced.
    copyFileSync(name, join(dist, 'build.json'));
  };
  mkdirSync(place);
  put(first);
  symlinkSync(join(REPOSITORY, 'node_modules'), join(place, 'node_modules'));
  return {
    cli: join(dist, 'reeve.cjs'),
    update: (to) => {
      rmSync(dist, { recursive: true });
      put(to);
    },
  };
}
