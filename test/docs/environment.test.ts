/** The environment variables of the documentation against those that the sources read and set. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SESSION_VARIABLES } from '../../src/harness/session-variables.ts';
import { KEYWORDS } from '../../src/store/postgres-address.ts';
import { codeIn, PAGES, pageFrom, readPage, rowsOf } from './page.ts';
import type { Page } from './page.ts';

const SOURCES = fileURLToPath(new URL('../../src', import.meta.url));
const SOURCE = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.(ts|mjs|sh|pl)$/.test(path))
  .map((path) => readFileSync(join(SOURCES, path), 'utf8'))
  .join('\n');

const found = (pattern: RegExp) => [...SOURCE.matchAll(pattern)].map(([, name = '']) => name);
/** Put in by the build, and in no environment. */
const CONSTANTS = new Set(found(/declare const (REEVE_\w+)/g));
/** What harnesses mark their children with is removed, not read. */
const isOwn = (name: string) => !CONSTANTS.has(name) && !SESSION_VARIABLES.has(name);
const KNOWN: ReadonlySet<string> = new Set(
  [
    ...found(/(?<![A-Z_])(REEVE_[A-Z_]*[A-Z])\b/g),
    ...found(/\benv(?:ironment)?\['([A-Z_]+)'\]/g),
    ...found(/\benv(?:ironment)?\.([A-Z][A-Z_]+)\b/g),
    // Where they are read through a table, or by a name that is given.
    ...found(/'((?:XDG|CLAUDE|CODEX|CODE|GEMINI|OPENCODE)_[A-Z_]+)'/g),
  ].filter(isOwn),
);
const POSTGRES: ReadonlySet<string> = new Set(
  [...KEYWORDS.values(), 'PGSYSCONFDIR'].filter((name) => name !== null),
);

/** Whatever looks like one. */
function mentioned(page: Page): string[] {
  const words = page.text.match(
    /\b(?:REEVE|XDG|PG|CLAUDE|CODEX|CODE|GEMINI|OPENCODE|NO|FORCE)_?[A-Z][A-Z_]*\b/g,
  );
  return [...new Set(words)].filter((word) => /_|^PG/.test(word));
}

function undocumented(pages: readonly Page[]): string[] {
  const documented = new Set(pages.flatMap(({ spans }) => spans.map(({ text }) => text.split('=')[0] ?? '')));
  return [...KNOWN].filter((name) => !documented.has(name));
}

const ALL = PAGES.map(readPage);

describe('the documentation', () => {
  it('has every environment variable that Reeve reads or sets', () => {
    expect(undocumented(ALL)).toEqual([]);
  });

  it('has no environment variable that Reeve does not know', () => {
    const unknown = ALL.flatMap(mentioned).filter((name) => !KNOWN.has(name) && !POSTGRES.has(name));
    expect(unknown).toEqual([]);
  });

  it('explains in its table only variables that are read', () => {
    const rows = rowsOf(readPage('docs/cli.md'), 'environment');
    expect(rows.flatMap(([names = '']) => codeIn(names)).filter((name) => !KNOWN.has(name))).toEqual([]);
  });
});

describe('a page that is wrong is found out', () => {
  it('by a variable that it lacks', () => {
    const without = ALL.map(({ name, text }) => pageFrom(name, text.replaceAll('REEVE_CONTAINMENT', 'IT')));
    expect(undocumented(without)).toEqual(['REEVE_CONTAINMENT']);
  });

  it('by a variable that there is not', () => {
    const more = mentioned(pageFrom('more', 'Set `REEVE_COLOUR=1`, `CODEX_PLACE` or `PGSOCKET`.'));
    expect(more.filter((name) => !KNOWN.has(name) && !POSTGRES.has(name))).toEqual(more);
    expect(more).toHaveLength(3);
  });
});
