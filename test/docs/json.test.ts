/** The shapes and words of docs/cli.md against the schemas of what each verb prints. */
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/api/errors.ts';
import { PRINTED, reviewQueueSchema } from '../../src/api/printed.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { STATUS_OF_OUTCOME, STATUSES } from '../../src/lifecycle/status.ts';
import { codeIn, pageFrom, readPage, rowsOf } from './page.ts';
import { printedShapes, shapesIn } from './documented-shapes.ts';
import type { Page } from './page.ts';
import { jsonSchemaOf, shapeOf, sorted, wordsOf } from './shape.ts';

const page = readPage('docs/cli.md');

function documentedWords(of: Page): string[] {
  return rowsOf(of, 'word of').map(
    ([field = '', words = '']) => `${codeIn(field)[0]}: ${codeIn(words).toSorted().join(', ')}`,
  );
}

const KNOWN_SHAPES = Object.fromEntries(
  Object.entries(PRINTED).map(([verb, schema]) => [verb, sorted(shapeOf(jsonSchemaOf(schema)))]),
);
/** Those of errors have a page of their own. */
const CODES = `code: ${Object.keys(ERRORS).toSorted().join(', ')}`;
const KNOWN_WORDS = [
  ...new Set(Object.values(PRINTED).flatMap((schema) => wordsOf(jsonSchemaOf(schema)))),
].filter((words) => words !== CODES);

describe('docs/cli.md', () => {
  it('has the shape of what every verb prints with --json, and of nothing else', () => {
    expect(printedShapes(page)).toEqual(KNOWN_SHAPES);
  });

  it('has every shape that it names, and names every shape that it has', () => {
    const named = rowsOf(page, 'shape').map(([name = '']) => name);
    const used = [...rowsOf(page, 'with `--json`'), ...rowsOf(page, 'shape')]
      .flatMap(([, cell = '']) => shapesIn(cell))
      .flatMap((shape) => shape.match(/\b[A-Z]\w*/g) ?? []);
    expect([...new Set(used)].toSorted()).toEqual(named.toSorted());
  });

  it('has every field that has only certain words, with exactly those', () => {
    expect(documentedWords(page).toSorted()).toEqual(KNOWN_WORDS.toSorted());
  });

  it('has the status of every outcome, and every status', () => {
    const rows = rowsOf(page, 'outcome').map(([outcome = '', status = '']) => [
      codeIn(outcome)[0] ?? null,
      codeIn(status)[0],
    ]);
    const ofEnded = rows.filter(([outcome]) => outcome !== null);
    expect(Object.fromEntries(ofEnded)).toEqual(STATUS_OF_OUTCOME);
    expect(new Set(rows.map(([, status]) => status))).toEqual(new Set(STATUSES));
  });

  it('has a reviewer’s queue as it is', () => {
    const example = page.blocks.find(({ language, text }) => language === 'json' && text.includes('submit'));
    expect(reviewQueueSchema.safeParse(JSON.parse(example?.text ?? '')).error).toBe(undefined);
  });
});

it('every verb, with each of its actions, has a schema of what it prints', () => {
  const verbs = VERBS.flatMap(({ name, arguments: [first] }) => {
    const actions = first?.choices?.map((action) => `${name} ${action}`) ?? [name];
    return first?.choices !== undefined && first.optional === true ? [name, ...actions] : actions;
  });
  expect(Object.keys(PRINTED).toSorted()).toEqual(verbs.toSorted());
});

describe('a page that is wrong is found out', () => {
  const changed = (from: string, to: string) => {
    const text = page.text.replace(from, to);
    expect(text).not.toBe(page.text);
    return pageFrom('changed', text);
  };

  it.each([
    ['a field that it lacks', '{session, run, characters}', '{session, run}'],
    ['a field that there is not', '{session, run, characters}', '{session, run, characters, words}'],
    ['a field that may be missing, and is not said to', 'says, code?}', 'says, code}'],
    ['a list that is none', '{removed[]}', '{removed}'],
    ['a field of a shape that others have', 'keeperPid, host, startedAt', 'keeperPid, startedAt'],
  ])('by %s', (_, from, to) => {
    expect(printedShapes(changed(from, to))).not.toEqual(KNOWN_SHAPES);
  });

  it.each([
    ['a word that it lacks', ', `over-budget`, `reaped`, `lost`', ', `reaped`, `lost`'],
    ['a word that there is not', '`alive`, `dead`', '`alive`, `asleep`, `dead`'],
  ])('by %s', (_, from, to) => {
    expect(documentedWords(changed(from, to)).toSorted()).not.toEqual(KNOWN_WORDS.toSorted());
  });
});
