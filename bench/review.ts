/** A head has moved: to have its stale reviewer ended and a fresh one started, against a plain stop and start of the same. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reeve, TriggerView } from '../src/index.ts';
import { eventually } from '../test/support/processes.ts';
import { compare, inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const SAMPLES = 20;
const AT_MOST = 1.3;
const GRACE_MS = 5_000;

export async function measureReview(built: Built): Promise<readonly Figure[]> {
  return [await inPlace(built, superseding)];
}

async function superseding(place: Place): Promise<Figure> {
  const reeve = await place.open();
  try {
    const worker = await reeve.launch({ session: 'w', cwd: place.root, argv: ['sleep', '600'] });
    if (worker.is !== 'started') throw new Error(`The worker was ${worker.is}.`);
    worker.release();
    let [round, head] = [0, commitIn(place.root, 0)];
    const trigger = began(place, () => triggered(reeve, place, head));
    await trigger();
    let isLive = false;
    const restart = began(place, async () => {
      if (isLive) await reeve.stop('plain', { graceMs: GRACE_MS });
      isLive = true;
      return started(reeve, place);
    });
    await restart();
    const { subject, baseline, ratio } = await compare(
      SAMPLES,
      () => {
        round += 1;
        head = commitIn(place.root, round);
        return timed(trigger);
      },
      () => timed(restart),
    );
    return {
      figure: 'a trigger that supersedes, to a stop and a start',
      measured: ratio,
      bar: { atMost: AT_MOST },
      unit: 'ratio',
      from: `${subject.toFixed(1)} ms against ${baseline.toFixed(1)} ms, median of ${SAMPLES}`,
    };
  } finally {
    await reeve.close();
  }
}

/** Both run the same program, and end when it executes. */
const COMMAND = ['sh', '-c', 'echo > "$REEVE_RUN"; exec sleep 600'] as const;

function began(place: Place, start: () => Promise<string>) {
  return async () => {
    const run = await start();
    await eventually('it executes', () => existsSync(join(place.root, run)));
  };
}

async function triggered(reeve: Reeve, place: Place, head: string): Promise<string> {
  const answer: TriggerView = await reeve.reviews.trigger({
    worker: 'w',
    pullRequests: [{ pr: '1', head }],
    reviewer: COMMAND,
    repo: place.root,
    graceMs: GRACE_MS,
  });
  if (!answer.isStarted || answer.reviewer === null) throw new Error('No reviewer was started.');
  return answer.reviewer.run;
}

/** A commit of its own in a repository, as a push makes one. */
function commitIn(directory: string, round: number): string {
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', directory, '-c', 'user.name=b', '-c', 'user.email=b@example.invalid', ...args],
      {
        encoding: 'utf8',
      },
    );
  if (round === 0) git('init', '--quiet');
  writeFileSync(join(directory, 'work'), String(round));
  git('add', 'work');
  git('commit', '--quiet', '--message', `round ${round}`);
  return git('rev-parse', 'HEAD').trim();
}

async function started(reeve: Reeve, place: Place): Promise<string> {
  const result = await reeve.launch({ session: 'plain', cwd: place.root, argv: COMMAND });
  if (result.is !== 'started') throw new Error(`It was ${result.is}.`);
  result.release();
  return result.run.id;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}
