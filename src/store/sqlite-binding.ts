/**
 * SQLite itself, without the JavaScript that its package puts around it. Every start of a program pays for loading it,
 * and nothing of that is used here: the compiled part has the interface of Node's own `node:sqlite`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as sqlite from '@photostructure/sqlite';

const PACKAGE = '@photostructure/sqlite';

const here = createRequire(import.meta.filename);
// Where Node would look, without the part of its search that reads every package.json on the way.
const manifest =
  (here.resolve.paths(PACKAGE) ?? [])
    .map((directory) => join(directory, PACKAGE, 'package.json'))
    .find((path) => existsSync(path)) ?? here.resolve(`${PACKAGE}/package.json`);
const root = dirname(manifest);

const libc = existsSync('/etc/alpine-release') ? 'musl' : 'glibc';
// What comes with the package for most machines. Asking the package for it takes longer than loading it.
const shipped = join(
  root,
  `prebuilds/${process.platform}-${process.arch}/@photostructure+sqlite.${libc}.node`,
);

export const { DatabaseSync }: typeof sqlite =
  existsSync(shipped) && !existsSync(join(root, 'build')) ? here(shipped) : found();

/** The package's own way of finding what was compiled for this machine; its types are not published. */
function found(): typeof sqlite {
  const load = createRequire(manifest)('node-gyp-build') as (directory: string) => typeof sqlite;
  return load(root);
}
