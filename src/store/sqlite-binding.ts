/**
 * SQLite itself, without the JavaScript that its package puts around it. Every start of a program pays for loading it,
 * and nothing of that is used here: the compiled part has the interface of Node's own `node:sqlite`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as sqlite from '@photostructure/sqlite';

const PACKAGE = '@photostructure/sqlite';

const here = createRequire(import.meta.url);
// Where Node would look, without the part of its search that reads every package.json on the way.
const manifest =
  (here.resolve.paths(PACKAGE) ?? [])
    .map((directory) => join(directory, PACKAGE, 'package.json'))
    .find((path) => existsSync(path)) ?? here.resolve(`${PACKAGE}/package.json`);
// The package's own way of finding what was compiled for this machine; its types are not published.
const load = createRequire(manifest)('node-gyp-build') as (directory: string) => typeof sqlite;

export const { DatabaseSync } = load(dirname(manifest));
