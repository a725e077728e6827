/** Reviews by real harnesses: a newer head ends the reviewer, process and all, and one with nothing in mind begins anew. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReviewView, TriggerView } from '../../src/api/http-views.ts';
import { isAlive } from '../support/processes.ts';
import { installed } from './support/home/home.ts';
import { gate, HARNESSES, openStage } from './support/stage.ts';
import type { Stage } from './support/stage.ts';

const [OLD, NEW] = ['a', 'b'].map((letter) => letter.repeat(40)) as [string, string];

/** Submits all that is in the queue, as a reviewer would that has found nothing. */
const SUBMITS = `
const { spawnSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
writeFileSync('found.md', 'nothing to say');
for (const { submit: [program, ...args] } of JSON.parse(readFileSync(process.env.REEVE_REVIEW_QUEUE, 'utf8')))
  spawnSync(program, [...args, '--verdict', 'approve', '--body', 'found.md'], { stdio: 'inherit' });
`;

describe.each(HARNESSES)('%s', (_, name) => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await openStage(name);
    writeFileSync(stage.path('submit.cjs'), SUBMITS);
    await stage.json(['run', '-d', '-s', 'worker', '--', 'sleep', '600']);
  });

  afterEach(() => stage.close());

  const trigger = (head: string, ...reviewer: string[]) =>
    stage.json<TriggerView>(['review', 'trigger', '--worker', 'worker', '--pr', `7=${head}`, ...reviewer]);
  const by = (prompt: string) => {
    const [, ...args] = stage.command(prompt);
    return ['--reviewer', [installed('.bin', name), ...args].map(quoted).join(' ')];
  };

  test('a reviewer of an older head is ended, and a fresh one reviews the newer', async () => {
    const held = gate(stage, 'held');
    const first = await trigger(OLD, ...by(`old one @@RUN ${held.command}@@ @@SAY done@@`));
    await stage.model.waitForRequest(({ prompt }) => prompt.includes('old one'));
    const { run } = await stage.show('review-worker');
    const old = [stage.own(run.pid), stage.own(run.keeperPid)];

    const second = await trigger(
      NEW,
      ...by(`fresh one @@RUN '${process.execPath}' submit.cjs@@ @@SAY done@@`),
      '--grace',
      '2',
    );
    expect(old.map(isAlive)).toEqual([false, false]);
    expect({ retired: second.retired, isStarted: second.isStarted }).toEqual({
      retired: first.reviewer?.run,
      isStarted: true,
    });
    await stage.over('review-worker');
    const { reviews } = await stage.json<{ reviews: ReviewView[] }>(['review', 'ls', '--all']);
    expect(reviews.map(({ head, status, verdict }) => ({ head, status, verdict }))).toEqual(
      expect.arrayContaining([
        { head: OLD, status: 'superseded', verdict: null },
        { head: NEW, status: 'up-to-date', verdict: 'approve' },
      ]),
    );
    // It was never told of what the first one had in mind.
    const known = stage.model.requests.filter(({ prompt }) => prompt.includes('fresh one'));
    expect(known.length).toBeGreaterThan(0);
    expect(known.flatMap(({ prompts }) => prompts).filter((prompt) => prompt.includes('old one'))).toEqual(
      [],
    );
  });

  test('a harness that is only named is told what to review, and how to submit', async () => {
    // What is reviewed is a repository; Codex insists on one.
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
        cwd: dirname(stage.path('any')),
        encoding: 'utf8',
      }).trim();
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message', 'one');
    const head = git('rev-parse', 'HEAD');
    await trigger(head, '--harness', name);
    const { prompt } = await stage.model.waitForRequest((request) => request.prompt.includes(head));
    expect(prompt).toContain('REEVE_REVIEW_QUEUE');
    await stage.over('review-worker');
    const { reviews } = await stage.json<{ reviews: ReviewView[] }>(['review', 'ls']);
    expect(reviews).toMatchObject([{ head, status: 'failed', reviewer: { session: 'review-worker' } }]);
    expect(reviews[0]?.reason).toContain('without submitting');
  });
});

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
