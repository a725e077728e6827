/** A conversation that has an owner, called by another name than its id: the harness would go on with it all the same. */
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { SUBJECTS, placeIn } from '../fixtures/harness-subjects.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let project: string;
beforeEach(() => {
  sandbox = createSandbox();
  installStandIns(sandbox, 'claude', 'gemini', 'opencode');
  project = sandbox.path('project');
  mkdirSync(project);
});
afterEach(() => sandbox.cleanUp());

interface Failure {
  readonly error: { readonly code: string; readonly details: { readonly candidates?: readonly string[] } };
}

const titled = (title: string, sessionId: string) =>
  `${JSON.stringify({ type: 'custom-title', customTitle: title, sessionId })}\n`;

/** As the harness has it on file; the file. */
function onFile(name: 'claude' | 'gemini' | 'opencode', id: string, tail = ''): string {
  const subject = SUBJECTS.find((each) => each.name === name);
  return subject?.stage(sandbox.root, { id, cwd: project, tail }) ?? '';
}

const start = (argv: readonly string[], cwd = project) => ['run', '-d', '--cwd', cwd, '--', ...argv];

async function owned(argv: readonly string[]): Promise<void> {
  await sandbox.json<SessionView>(start(argv));
}

async function refusal(argv: readonly string[], code: number, cwd = project): Promise<string> {
  const { error } = await sandbox.json<Failure>(start(argv, cwd), code);
  expect(await sandbox.list()).toHaveLength(1);
  return error.code;
}

describe('a conversation of claude that has an owner', () => {
  let id: string;
  let file: string;
  beforeEach(async () => {
    id = randomUUID();
    // What a tool printed is no title, and of several the last one counts.
    const said = `${JSON.stringify({ type: 'user', message: 'x'.repeat(2_000_000), customTitle: 'said' })}\n`;
    file = onFile('claude', id, titled('Before', id) + said + titled('The  parser', id));
    await owned(['claude', '--resume', id]);
  });

  it.each([
    ['its title', () => 'The  parser'],
    ['its title in other letters', () => ' the  PARSER '],
    ['its id among blanks', () => ` ${id} `],
    ['its file', () => file],
    [
      'a copy of its file, from the directory of that',
      () => {
        copyFileSync(file, join(project, 'copy.jsonl'));
        return 'copy.jsonl';
      },
    ],
  ])('has no second one that calls it by %s', async (_, reference) => {
    expect(await refusal(['claude', '-p', '--resume', reference(), 'hi'], 4)).toBe('live_owner');
    expect(await refusal(['claude', '--resume', reference()], 4)).toBe('live_owner');
  });

  it('has no second one that goes on with the latest through a link to the directory', async () => {
    const link = sandbox.path('link');
    symlinkSync(project, link);
    expect(await refusal(['claude', '-c'], 4, link)).toBe('live_owner');
  });

  it('is not meant by the title of none', async () => {
    expect(await refusal(['claude', '-p', '--resume', 'Before', 'hi'], 3)).toBe('not_found');
    // There a person chooses from a list.
    await sandbox.json<SessionView>(start(['claude', '--resume', 'Before']));
  });

  it('is not chosen where others have its title', async () => {
    const other = randomUUID();
    onFile('claude', other, titled('the  parser', other));
    const { error } = await sandbox.json<Failure>(start(['claude', '--resume', 'The  parser']), 2);
    expect(error.code).toBe('ambiguous');
    expect(error.details.candidates?.toSorted()).toEqual([id, other].toSorted());
  });
});

it('a conversation of gemini is not resumed by a number that only gemini knows', async () => {
  const id = randomUUID();
  onFile('gemini', id);
  await owned(['gemini', '--resume', id]);
  expect(await refusal(['gemini', '--resume', '1', '-p', 'hi'], 2)).toBe('usage');
});

describe('the latest conversation of opencode in a directory', () => {
  it.each([
    ['--dir', (directory: string) => ['opencode', 'run', '--dir', directory, '-c', 'hi']],
    ['its only word', (directory: string) => ['opencode', directory, '-c']],
  ])('that is named by %s has no second owner', async (_, argv) => {
    const id = `ses_${randomUUID().replaceAll('-', '')}`;
    onFile('opencode', id);
    await owned(['opencode', '-s', id]);
    expect(await refusal(argv(project), 4, sandbox.root)).toBe('live_owner');
    expect(await refusal(argv('project'), 4, sandbox.root)).toBe('live_owner');
  });
});

it('a transcript that may not be read is none that is called by its file', async () => {
  const { adapter } = SUBJECTS.find(({ name }) => name === 'claude') ?? {};
  const called = (reference: string) =>
    adapter?.conversationsCalled?.(placeIn(sandbox.root, project), reference);
  expect(called('nowhere.jsonl')).toEqual([]);
  writeFileSync(join(project, 'no-transcript.jsonl'), 'text\n');
  expect(called('no-transcript.jsonl')).toEqual([]);
});
