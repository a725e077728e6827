// Bundles the package into dist/: JavaScript of ours and of our dependencies in a few flat files, the native SQLite
// module left outside. Flat, because the keeper's program and the finaliser are found beside the code that uses them.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, rmSync } from 'node:fs';
import { rolldown } from 'rolldown';

process.chdir(new URL('..', import.meta.url).pathname);
rmSync('dist', { recursive: true, force: true });

const bundle = await rolldown({
  input: { reeve: 'src/cli/main.ts', finaliser: 'src/finaliser/main.ts', index: 'src/index.ts' },
  platform: 'node',
  external: ['@photostructure/sqlite', 'pg-native'],
});
await bundle.write({
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  banner: (chunk) => (chunk.fileName === 'reeve.js' ? '#!/usr/bin/env node' : ''),
});
await bundle.close();
copyFileSync('src/process/keeper.pl', 'dist/keeper.pl');
chmodSync('dist/reeve.js', 0o755);
execFileSync('npx', ['--no-install', 'tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
