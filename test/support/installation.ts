/** A copy of the built package in a place of the test's own, which can be updated in place as npm does it. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

export interface Installation {
  readonly cli: string;
  readonly build: string;
  /** All of it is replaced by another build. Returns that one's name. */
  update(): string;
  /** The same, with a program that ends at once with this code. */
  updateToBroken(code: number): string;
  /** Of the other build only its name has come so far. Returns that. */
  announce(): string;
  remove(): void;
  putBack(): void;
}

export function installAt(root: string): Installation {
  const dist = join(root, 'dist');
  mkdirSync(root);
  const source = join(REPOSITORY, 'dist');
  // Its name comes last, as in a real build: whoever reads it takes the rest for complete.
  const putBack = () => {
    cpSync(source, dist, { recursive: true, filter: (path) => path !== join(source, NAME) });
    cpSync(join(source, NAME), join(dist, NAME));
  };
  putBack();
  cpSync(join(REPOSITORY, 'package.json'), join(root, 'package.json'));
  symlinkSync(join(REPOSITORY, 'node_modules'), join(root, 'node_modules'));
  const { build } = JSON.parse(readFileSync(join(dist, NAME), 'utf8')) as { build: string };
  const cli = join(dist, 'reeve.cjs');
  const update = (finish = () => {}) => {
    const other = build.split('').toReversed().join('');
    // Here too, however long we take.
    const names = filesIn(dist).toSorted((a, b) => Number(a === NAME) - Number(b === NAME));
    const parts = names.filter((name) => PART.test(name));
    for (const name of names) {
      if (name === NAME) finish();
      let text = readFileSync(join(dist, name), 'utf8').replaceAll(build, other);
      for (const part of parts) text = text.replaceAll(part, `updated-${part}`);
      rmSync(join(dist, name));
      writeFileSync(join(dist, parts.includes(name) ? `updated-${name}` : name), text, { mode: 0o755 });
    }
    return other;
  };
  return {
    cli,
    build,
    update: () => update(),
    updateToBroken: (code) => update(() => writeFileSync(cli, `process.exit(${code})`)),
    announce: () => {
      const other = build.split('').toReversed().join('');
      const name = join(dist, NAME);
      writeFileSync(name, readFileSync(name, 'utf8').replace(build, other));
      return other;
    },
    remove: () => rmSync(dist, { recursive: true }),
    putBack,
  };
}

/** Which build it is. */
const NAME = 'build.json';
/** The name of a part has a hash, so every build has others. */
const PART = /^.+-[\w-]{8}\.c?js$/;

function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
