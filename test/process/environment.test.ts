import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SESSION_VARIABLES } from '../../src/harness/session-variables.ts';
import { keeperEnvironment, scrubEnvironment } from '../../src/process/environment.ts';

const MARKS = { runId: 'run-2', token: 'new-token', sessionName: 'api-claude', home: '/state', withheld: [] };
const OWN = {
  REEVE_HOME: '/state',
  REEVE_RUN: 'run-2',
  REEVE_TOKEN: 'new-token',
  REEVE_SESSION: 'api-claude',
};
const OUTER = {
  REEVE_HOME: '/outer',
  REEVE_RUN: 'run-1',
  REEVE_TOKEN: 'outer-token',
  REEVE_SESSION: 'outer',
  REEVE_CHECKPOINT: 'launch.claimed=kill',
  REEVE_WHATEVER_COMES_NEXT: '1',
};
const CREDENTIALS = {
  ANTHROPIC_API_KEY: 'sk-ant',
  CLAUDE_CODE_OAUTH_TOKEN: 'oauth',
  OPENAI_API_KEY: 'sk-openai',
  GEMINI_API_KEY: 'AIza',
  GITHUB_TOKEN: 'ghp',
  AWS_SECRET_ACCESS_KEY: 'aws',
};
const ORDINARY = { PATH: '/usr/bin', HOME: '/home/ada', LANG: 'de_DE.UTF-8', EMPTY: '', TERM: 'xterm' };

function scrub(inherited: Record<string, string | undefined>): Record<string, string> {
  return scrubEnvironment(inherited, SESSION_VARIABLES, MARKS);
}

describe('the environment of a harness', () => {
  it.each([...SESSION_VARIABLES])('does not have %s of an outer session', (name) => {
    expect(scrub({ ...ORDINARY, [name]: 'outer' })).toEqual({ ...ORDINARY, ...OWN });
  });

  it('has the marks of its own run and none of an outer one', () => {
    expect(scrub({ ...ORDINARY, ...OUTER })).toEqual({ ...ORDINARY, ...OWN });
  });

  it('has the credentials and settings of the caller, unchanged', () => {
    expect(scrub({ ...ORDINARY, ...CREDENTIALS })).toEqual({ ...ORDINARY, ...CREDENTIALS, ...OWN });
  });

  it('has nothing of what is withheld from it, and is told that it is', () => {
    const given = { ...ORDINARY, REEVE_STORE: 'postgres://db/reeve', PGPASSWORD: 'secret', PGHOST: 'db' };
    const marks = { ...MARKS, withheld: ['PGPASSWORD'] };
    const without = { ...ORDINARY, PGHOST: 'db', ...OWN };
    expect(scrubEnvironment(given, new Set(), marks)).toEqual({ ...without, REEVE_STORE: 'withheld' });
    expect(scrubEnvironment({}, new Set(), MARKS)).not.toHaveProperty('REEVE_STORE');
  });

  it('lets a nested Reeve use the same store and containment', () => {
    const steering = { REEVE_STORE: 'postgres://db/reeve', REEVE_CONTAINMENT: 'subreaper' };
    expect(scrub({ ...ORDINARY, ...steering })).toEqual({ ...ORDINARY, ...steering, ...OWN });
  });

  it('keeps what only looks like a mark', () => {
    const similar = { NOT_REEVE_RUN: '1', reeve_run: '2', REEVERY: '3', CLAUDECODE_X: '4', MY_CODEX_CI: '5' };
    expect(scrub(similar)).toEqual({ ...similar, ...OWN });
  });

  it('has no variable that was set to nothing at all', () => {
    expect(scrub({ UNSET: undefined, ...ORDINARY })).toStrictEqual({ ...ORDINARY, ...OWN });
  });

  it('of any caller carries one run, whichever marks the caller carried', () => {
    const anyName = fc.oneof(
      fc.constantFrom(...SESSION_VARIABLES, ...Object.keys({ ...OUTER, ...CREDENTIALS, ...ORDINARY })),
      fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
    );
    fc.assert(
      fc.property(fc.dictionary(anyName, fc.string()), (inherited) => {
        const scrubbed = scrub(inherited);
        expect(scrubbed).toMatchObject(OWN);
        const marks = Object.keys(scrubbed).filter(
          (name) => SESSION_VARIABLES.has(name) || (name.startsWith('REEVE_') && !(name in OWN)),
        );
        expect(marks).toEqual([]);
      }),
    );
  });
});

describe('the environment of a keeper', () => {
  it('has the few variables it needs and none of the secrets of the caller', () => {
    expect(keeperEnvironment({ ...ORDINARY, ...CREDENTIALS, ...OUTER }, '/state')).toEqual({
      PATH: '/usr/bin',
      HOME: '/home/ada',
      REEVE_CHECKPOINT: 'launch.claimed=kill',
      REEVE_HOME: '/state',
      LC_ALL: 'C',
    });
  });

  it('names the store of the caller, in which it records the end', () => {
    expect(keeperEnvironment({ REEVE_STORE: 'postgres://db/reeve' }, '/state')).toEqual({
      REEVE_STORE: 'postgres://db/reeve',
      REEVE_HOME: '/state',
      LC_ALL: 'C',
    });
  });

  it('does not carry the mark, or it would be a member of its own tree', () => {
    expect(Object.keys(keeperEnvironment(OUTER, '/state'))).not.toContain('REEVE_RUN');
  });
});
