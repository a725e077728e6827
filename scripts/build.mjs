// Bundles the package into dist/: JavaScript of ours and of our dependencies in a few flat files, the native SQLite
// module left outside. Flat, because the keeper's program and the finaliser are found beside the code that uses them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rolldown } from 'rolldown';
import { build } from 'vite';

// What every start needs.
const CORE =
  /rolldown\/runtime|src\/lifecycle\/(?!notification|delivery|price|story|submission|budget|review|head-watch|reconcile|awake|proof)|src\/process\/(?!outsider-tree|owner-note|darwin|end-tree|harness-below|run-mark|own-words)|src\/api\/(?:errors|nearest|raw-bytes|time-words)\.ts|src\/store\/(?!announce|budget-facts|migrations|postgres|sole-holder|try-write|usage(?!-methods)|fence|submissions|budgets|review)|src\/harness\/(?:adapters|command|make-directory|session-variables)\.ts|src\/supervisor\/(?:config-check|config-path|context|harness-launch|home|launch|liveness|owner-words|reeve|own-program|start-claimed)\.ts|src\/cli\/(?:commands\/run|follow|pane|output|render\/style)\.ts/;
// What every end of a run needs, and with it every look at one.
const ENDING =
  /src\/lifecycle\/(?:reconcile|awake|proof)\.ts|src\/process\/(?:end-tree|run-mark)\.ts|src\/supervisor\/(?:adapter-of|finalise|lineage|obstacle|reconcile|reports|retire|take-writes|tree-of)\.ts/;

process.chdir(new URL('..', import.meta.url).pathname);
rmSync('dist', { recursive: true, force: true });

const BUILD = {
  version: JSON.parse(readFileSync('package.json', 'utf8')).version,
  build: hashOf([
    ...filesBelow('src'),
    ...filesBelow('web'),
    'scripts/build.mjs',
    'package.json',
    'package-lock.json',
  ]),
};

// Programs as CommonJS: Node loads that, and built-in modules from it, several times faster, and they start often.
await bundle(
  { reeve: 'src/cli/main.ts', finaliser: 'src/finaliser/main.ts', watcher: 'src/watcher/main.ts' },
  'cjs',
  'cjs',
);
await bundle({ index: 'src/index.ts' }, 'esm', 'js');
// Loading what `use strict` needs takes a keeper as long as the half of its program. It is checked from the sources.
const keeper = readFileSync('src/process/keeper.pl', 'utf8');
writeFileSync('dist/keeper.pl', keeper.replace(/^use strict;\n/m, ''));
for (const program of ['hook/hook.sh', 'hook/opencode-plugin.mjs']) {
  copyFileSync(`src/${program}`, `dist/${program.split('/')[1]}`);
}
chmodSync('dist/reeve.cjs', 0o755);
await build({ configFile: 'web/vite.config.ts', logLevel: 'warn' });
// Last: what a running program compares itself with.
writeFileSync('dist/build.json', `${JSON.stringify(BUILD)}\n`);
execFileSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });

function filesBelow(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .toSorted();
}

function hashOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(path).update('\0').update(readFileSync(path));
  return hash.digest('hex').slice(0, 12);
}

async function bundle(input, format, ending) {
  const bundled = await rolldown({
    input,
    platform: 'node',
    external: ['@photostructure/sqlite', 'pg-native'],
    // Which build a process is of, whatever is on disk by then.
    transform: { define: { REEVE_BUILD: JSON.stringify(BUILD) } },
    // jsonc-parser's main file loads its parts by names that a bundler cannot see.
    resolve: { mainFields: ['module', 'main'] },
    plugins: format === 'cjs' ? [{ name: 'plain-exports', renderChunk: withPlainExports }] : [],
    // What is meant to be loaded late, but something else loads early, makes every start slower without a word.
    onLog: (level, log, report) => report(log.code === 'INEFFECTIVE_DYNAMIC_IMPORT' ? 'error' : level, log),
  });
  await bundled.write({
    dir: 'dist',
    format,
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `[name]-[hash].${ending}`,
    // What every start needs in one file: finding and opening each costs as much as reading it.
    codeSplitting: {
      groups: [
        { name: 'core', test: CORE },
        { name: 'ending', test: ENDING },
      ],
    },
    // A program is read anew at every start: comments and white space stay in the sources, names of functions stay readable.
    comments: false,
    minify: { compress: false, mangle: { toplevel: false }, codegen: true },
    banner: (chunk) => (chunk.fileName === 'reeve.cjs' ? '#!/usr/bin/env node' : ''),
  });
  await bundled.close();
}

/**
 * The bundler gives every export of a part a getter of its own: some hundred functions that every start makes. Nothing
 * that is exported here is ever assigned anew (the linter sees to that), and both stand at the end of the part.
 */
function withPlainExports(code) {
  const plain = code.replaceAll(
    /^Object\.defineProperty\(exports, "([\w$]+)", \{\s+enumerable: true,\s+get: function ?\(\) \{\s+return ([\w$]+);\s+\}\s+\}\);$/gm,
    'exports.$1 = $2;',
  );
  if (/^Object\.defineProperty\(exports/m.test(plain))
    throw new Error('The bundler writes exports in another way now.');
  return { code: plain };
}
