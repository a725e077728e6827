import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ERRORS, ReeveError } from '../../src/api/errors.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { readPage, rowsOf } from '../docs/page.ts';

/** Rows look like: | `live_owner` | 4 | 409 | what it means, and what to do | */
const ROW = /^\|\s*`([a-z_]+)`\s*\|\s*(\d+)\s*\|\s*(\d+)\s*\|\s*(\S.*?)\s*\|\s*$/gm;

describe('docs/errors.md', () => {
  const rows = () => {
    const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
    return [...page.matchAll(ROW)];
  };

  it('documents every error of the table and no other, with its exit code and HTTP status', () => {
    const documented = rows().map(([, code = '', exitCode, httpStatus]) => [
      code,
      { exitCode: Number(exitCode), httpStatus: Number(httpStatus) },
    ]);
    expect(Object.fromEntries(documented)).toEqual(ERRORS);
  });

  it('documents every exit code that a command can end with, and no other', () => {
    const page = readPage('docs/errors.md');
    const exits = VERBS.flatMap((verb) => verb.exits ?? []).map(({ code }) => code);
    const known = new Set([0, ...Object.values(ERRORS).map(({ exitCode }) => exitCode), ...exits]);
    const documented = rowsOf(page, 'exit').map(([code]) => Number(code));
    expect(documented).toEqual([...known].toSorted((one, other) => one - other));
  });

  it('documents each error once', () => {
    const codes = rows().map(([, code]) => code);
    expect(codes).toEqual([...new Set(codes)]);
  });
});

describe('an error', () => {
  it('carries its code, hint, details and cause', () => {
    const cause = new Error('EBUSY');
    const error = new ReeveError('live_owner', 'It is owned.', {
      hint: 'Wait.',
      details: { run: 'r' },
      cause,
    });
    expect({ ...error, message: error.message, cause: error.cause }).toEqual({
      name: 'ReeveError',
      code: 'live_owner',
      message: 'It is owned.',
      hint: 'Wait.',
      details: { run: 'r' },
      cause,
    });
  });

  it('has no cause, hint or details that nobody gave', () => {
    const error = new ReeveError('failed', 'It failed.');
    expect([error.hint, error.details, 'cause' in error]).toEqual([undefined, {}, false]);
  });

  it('has an exit code from 1 to 8, or that of an interrupt, and an HTTP status of an error', () => {
    const wrong = Object.entries(ERRORS).filter(
      ([, { exitCode, httpStatus }]) =>
        ![1, 2, 3, 4, 5, 6, 7, 8, 130].includes(exitCode) || httpStatus < 400 || httpStatus > 599,
    );
    expect(wrong).toEqual([]);
  });
});
