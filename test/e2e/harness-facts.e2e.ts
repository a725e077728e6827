/**
 * What Reeve's adapters take for granted about the real programs, at the versions of test/e2e/harness. A failure here
 * with a new version is news about that program, and its adapter has to learn it.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/processes.ts';
import { finished } from '../support/sandbox.ts';
import type { Finished } from '../support/sandbox.ts';
import { furnishHome, HARNESS_NAMES } from './support/harness-home.ts';
import type { HarnessHome, HarnessName } from './support/harness-home.ts';
import { startModelServer } from './support/model-server.ts';
import type { ModelServer } from './support/model-server.ts';
import { openTerminal } from './support/terminal.ts';

/** How each ends when the model's API refuses with 400. */
const EXIT_ON_REFUSAL: Readonly<Record<HarnessName, number>> = {
  claude: 1,
  codex: 1,
  gemini: 144,
  opencode: 1,
};

/** What a prompt for leave looks like in the pane. */
const QUESTION: Readonly<Record<HarnessName, RegExp>> = {
  claude: /Do you want to proceed\?/u,
  codex: /Would you like to run the following command\?/u,
  gemini: /Allow execution of/u,
  opencode: /Permission required/u,
};

describe.each(HARNESS_NAMES)('%s', (name) => {
  let directory: string;
  let model: ModelServer;
  let harness: HarnessHome;
  let started: ChildProcess[];

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), `reeve-${name}-`));
    model = await startModelServer();
    harness = furnishHome(name, directory, model.url);
    started = [];
  });

  afterEach(async () => {
    // Of a failed test; a child that is still this process's own has not been reused.
    for (const child of started)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await model.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  const run = (args: readonly string[]): Promise<Finished> => {
    const [program, ...first] = harness.program;
    const child = spawn(program, [...first, ...args], {
      cwd: harness.work,
      env: harness.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(child);
    return finished(child);
  };

  const conversations = () => model.requests.filter(({ isConversation }) => isConversation);

  test('answers a prompt and exits 0', async () => {
    const { code, stdout } = await run(harness.headless('@@SAY the answer is 42@@'));
    expect({ code, says: stdout.includes('the answer is 42') }, stdout).toEqual({ code: 0, says: true });
  });

  test('runs a command in its own shell tool, then gives the result to the model', async () => {
    const { code, stdout } = await run(harness.headless('@@RUN echo made > proof@@ @@SAY that was it@@'));
    expect({ code, says: stdout.includes('that was it') }, stdout).toEqual({ code: 0, says: true });
    expect(readFileSync(join(harness.work, 'proof'), 'utf8')).toBe('made\n');
    expect(conversations().map(({ step, end }) => ({ step, end }))).toEqual([
      { step: 0, end: 'answered' },
      { step: 1, end: 'answered' },
    ]);
  });

  test(`exits ${EXIT_ON_REFUSAL[name]} when the model API refuses with 400`, async () => {
    const { code, stdout, stderr } = await run(harness.headless('@@FAIL 400@@'));
    expect(code, stdout + stderr).toBe(EXIT_ON_REFUSAL[name]);
  });

  test('serves two sessions at once from one home', async () => {
    // What a start does to what is there for all, opencode cannot do twice at once on a busy machine: it exits 1.
    const first = run(harness.headless('@@RUN echo > one; until [ -e two ]; do sleep 0.1; done@@ '));
    await eventually('the first is at work', () => existsSync(join(harness.work, 'one')), 60_000);
    const both = await Promise.all([first, run(harness.headless('@@RUN echo > two@@ '))]);
    expect(
      both.map(({ code }) => code),
      both.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
    ).toEqual([0, 0]);
    expect(['one', 'two'].map((file) => existsSync(join(harness.work, file)))).toEqual([true, true]);
  });

  test('resumes a session by its native id, which stays the same', async () => {
    const first = await run(harness.headless('@@SAY the answer is 42@@'));
    const id = nativeIdIn(first.stdout);
    const again = await run(harness.headlessResume(id, '@@SAY and still is@@'));
    expect(
      { code: again.code, says: again.stdout.includes('and still is'), id: nativeIdIn(again.stdout) },
      again.stdout + again.stderr,
    ).toEqual({ code: 0, says: true, id });
  });

  test('comes up in a terminal without a question, and asks before it uses the shell', async () => {
    const terminal = openTerminal(harness, harness.interactive());
    try {
      await eventually(`${name} is ready`, () => harness.ready.test(terminal.pane()), 60_000);
      await terminal.type('@@RUN echo > asked@@ @@SAY that was it@@ please');
      await model.waitForRequest(({ isConversation, step }) => isConversation && step === 0);
      await eventually(`${name} asks`, () => QUESTION[name].test(terminal.pane()), 30_000);
      expect(existsSync(join(harness.work, 'asked'))).toBe(false);
    } catch (error) {
      throw new Error(`The pane showed:\n${terminal.pane()}`, { cause: error });
    } finally {
      await terminal.close();
    }
  });
});

/** Each prints it with the first event, under a name of its own. */
function nativeIdIn(output: string): string {
  const id = /"(?:session_id|thread_id|sessionID)":"([^"]+)"/u.exec(output)?.[1];
  if (id === undefined) throw new Error(`There is no session id in: ${output}`);
  return id;
}
