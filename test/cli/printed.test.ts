/** What the built command prints with --json, of every verb, against its schema: see src/api/printed.ts. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PRINTED, reviewQueueSchema } from '../../src/api/printed.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { installStandInTui, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { insideRun } from '../support/credentials.ts';
import { launchIn } from '../support/launch.ts';
import { eventually } from '../support/processes.ts';
import { reviewingIn, sha } from '../support/reviewer.ts';
import type { Reviewing } from '../support/reviewer.ts';
import { createSandbox, finished, withJson } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let panes: Panes;
let reviews: Reviewing;
/** A second one, without a daemon: for a harness that somebody started without Reeve, and for reports that are left. */
let outside: { sandbox: Sandbox; standIns: StandIns };
beforeAll(async () => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
  installStandInTui(sandbox);
  reviews = reviewingIn(sandbox);
  await launchIn(sandbox, 'live', 'sh', '-c', 'echo one; exec sleep 600');
  await launchIn(sandbox, 'w', 'sleep', '600');
  const other = createSandbox();
  const standIns = installStandIns(other, 'claude');
  outside = { sandbox: other, standIns };
});
afterAll(async () => {
  await outside.sandbox.cleanUp();
  outside.standIns.endOutsiders();
  await sandbox.json(['serve', 'stop']);
  await panes.cleanUp();
});

interface Call {
  readonly words: readonly string[];
  readonly code?: number;
  readonly env?: Record<string, string>;
  readonly in?: Sandbox;
}

const ended = async (name: string) => {
  await sandbox.reeve(['run', '-s', name, '--', 'true']);
  return name;
};
const live = async (name: string) => {
  await launchIn(sandbox, name, 'sleep', '60');
  return name;
};
const served = () => sandbox.json(['serve', '--detach', '--replace']);
const talking = async (name: string) => {
  await sandbox.json(['run', '--tmux', '--detach', '-s', name, '--', 'claude']);
  await eventually('it is idle', async () => (await sandbox.show(name)).status === 'idle');
  return name;
};
/** From inside a run of that name. */
const inside = async (name: string, ...words: readonly string[]): Promise<Call> => ({
  words,
  env: { ...(await insideRun(sandbox, name)).env },
});
/** As in a run from which the store is withheld, where no daemon answers. */
const left = async (...words: readonly string[]): Promise<Call> => ({
  words,
  env: { ...(await insideRun(outside.sandbox, randomUUID())).env, REEVE_STORE: 'withheld' },
  in: outside.sandbox,
});
const submission = async (name: string) => {
  const { words, env = {} } = await inside(name, 'submit', '--data', written('found'));
  const { stdout } = await sandbox.reeve(withJson(words), { env });
  return (JSON.parse(stdout) as { id: string }).id;
};
const written = (text: string) => {
  writeFileSync(sandbox.path('text'), text);
  return sandbox.path('text');
};
const review = async (pr: string) =>
  (await reviews.trigger({ [pr]: randomUUID().replaceAll('-', '') })).pullRequests[0]?.review.id ?? '';
const notifying = () => {
  writeFileSync(sandbox.path('notify.toml'), '[notify]\ncommand = ["true"]\n');
  return { REEVE_CONFIG: sandbox.path('notify.toml') };
};

/** One after another, each with all that it needs. */
const CALLS: Readonly<Record<string, () => Promise<readonly Call[]> | readonly Call[]>> = {
  run: () => [
    { words: ['run', '--detach', '-s', 'ran', '--', 'sleep', '60'] },
    { words: ['run', '--detach', '--on-live', 'attach', '-s', 'ran', '--', 'true'] },
    { words: ['run', '--detach', '--force', '-s', 'ran', '--', 'true'] },
    { words: ['run', '-s', 'ran-here', '--', 'sh', '-c', 'exit 3'], code: 3 },
  ],
  resume: async () => [{ words: ['resume', '--detach', await ended('to-resume')] }],
  'child run': async () => [
    await inside('parent', 'child', 'run', '--detach', '-s', 'kid', '--', 'sleep', '60'),
  ],
  // What was started above is on record, also when it is over by now.
  'child ls': () => [{ words: ['child', 'ls', 'parent'] }],
  ls: () => [{ words: ['ls', '--all'] }],
  top: () => [{ words: ['top'] }],
  show: () => [{ words: ['show', 'live'] }, { words: ['show', 'parent'] }],
  why: () => [{ words: ['why', 'live'] }],
  usage: () => [{ words: ['usage'] }, { words: ['usage', '--tree', 'parent'] }],
  logs: async () => [{ words: ['logs', 'live'] }, { words: ['logs', '--screen', await talking('shows')] }],
  attach: () => [{ words: ['attach', 'live'] }],
  send: async () => [{ words: ['send', await talking('hears'), 'something to do'] }],
  stop: async () => [{ words: ['stop', await live('to-stop')] }, { words: ['stop', 'to-stop'] }],
  kill: async () => [{ words: ['kill', await live('to-kill')] }],
  rm: async () => [{ words: ['rm', await ended('gone')] }],
  settle: () => [{ words: ['settle'] }],
  'review trigger': () => [
    { words: ['review', ...reviews.words({ a: 'a1' })] },
    { words: ['review', ...reviews.words({ a: 'a2' })] },
  ],
  'review ls': () => [{ words: ['review', 'ls', '--all'] }],
  'review show': async () => [{ words: ['review', 'show', await review('shown')] }],
  'review submit': async () => {
    const { pullRequests, reviewer } = await reviews.trigger({ told: 'b1' });
    const { token } = await reviews.reviewer(reviewer?.run);
    const id = pullRequests[0]?.review.id ?? '';
    const words = ['review', 'submit', '--run', id, '--verdict', 'approve', '--body', written('fine')];
    return [{ words, env: { REEVE_RUN: reviewer?.run ?? '', REEVE_TOKEN: token } }, await left(...words)];
  },
  'review cancel': async () => [{ words: ['review', 'cancel', await review('given-up')] }],
  budget: () => [{ words: ['budget', 'live'] }, { words: ['budget'] }],
  'budget set': () => [{ words: ['budget', 'set', 'live', '--max-tokens', '5M'] }],
  scan: () => [{ words: ['scan'] }],
  adopt: async () => {
    const { pid } = await outside.standIns.outsider('claude', ['--resume', randomUUID()]);
    return [{ words: ['adopt', String(pid), '-s', 'adopted'], in: outside.sandbox }];
  },
  'hooks install': () => [{ words: ['hooks', 'install', 'claude', 'gemini'] }],
  'hooks status': () => {
    mkdirSync(sandbox.path('.codex'), { recursive: true });
    writeFileSync(sandbox.path('.codex/hooks.json'), '{ broken');
    return [
      // What was installed above, what never was, and what cannot be read.
      { words: ['hooks', 'status', 'claude', 'gemini'] },
      { words: ['hooks', 'status', 'claude', 'opencode'], code: 1 },
      { words: ['hooks', 'status', 'codex'], code: 1 },
    ];
  },
  'hooks remove': () => [{ words: ['hooks', 'remove', 'claude', 'gemini'] }],
  'shim install': () => [{ words: ['shim', 'install', 'claude'] }],
  'shim status': () => {
    const path = `${sandbox.home}/shims:${sandbox.env['PATH'] ?? ''}`;
    return [
      { words: ['shim', 'status', 'claude'], env: { PATH: path } },
      { words: ['shim', 'status', 'claude'], code: 1 },
      { words: ['shim', 'status', 'claude', 'codex'], env: { PATH: path }, code: 1 },
    ];
  },
  'shim remove': () => [{ words: ['shim', 'remove', 'claude'] }],
  heartbeat: async () => [await inside('beats', 'heartbeat'), await left('heartbeat')],
  submit: async () => [
    await inside('submits', 'submit', '--data', written('found')),
    await left('submit', '--data', written('found')),
  ],
  'submit ls': async () => (await submission('submitted'), [{ words: ['submit', 'ls'] }]),
  'submit show': async () => [{ words: ['submit', 'show', await submission('to-be-shown')] }],
  'usage add': async () => [
    await inside('spends', 'usage', 'add', '--model', 'm', '--input', '3'),
    await left('usage', 'add', '--model', 'm', '--input', '3'),
  ],
  'notify test': () => [{ words: ['notify', 'test'], env: notifying() }],
  'notify mute': () => [{ words: ['notify', 'mute', 'live', '--for', '2h'] }],
  'notify unmute': () => [{ words: ['notify', 'unmute', 'live'] }],
  serve: () => [{ words: ['serve', '--detach', '--replace'] }],
  'serve status': async () => (await served(), [{ words: ['serve', 'status'] }]),
  open: async () => (await served(), [{ words: ['open', '--print'] }, { words: ['open', '--sign-out'] }]),
  'serve stop': async () => (await served(), [{ words: ['serve', 'stop'] }, { words: ['serve', 'stop'] }]),
  doctor: () => [{ words: ['doctor'] }, { words: ['doctor'], env: { REEVE_CONFIG: '/none' }, code: 2 }],
  paths: () => [{ words: ['paths'] }],
  uninstall: () => [{ words: ['uninstall', '--dry-run'] }],
  demo: () => [{ words: ['demo'] }],
  'completion bash': () => [{ words: ['completion', 'bash'] }],
  'completion zsh': () => [{ words: ['completion', 'zsh'] }],
  'completion fish': () => [{ words: ['completion', 'fish'] }],
  'completion words': () => [{ words: ['completion', 'words', '--', 'show', ''] }],
};

/** It prints a value a line for as long as it runs, so it is not called as the others are. */
const WATCH = 'review watch';

it('every verb is called here', () => {
  expect([...Object.keys(CALLS), WATCH].toSorted()).toEqual(Object.keys(PRINTED).toSorted());
});

describe.each(Object.entries(CALLS))('%s', (verb, calls) => {
  it('prints what its schema says, and exits as documented', async () => {
    for (const { words, code = 0, env = {}, in: place = sandbox } of await calls()) {
      const answer = await place.reeve(withJson(words), { env });
      expect([words, answer.code, answer.code === code ? '' : answer.stdout]).toEqual([words, code, '']);
      const { error } = PRINTED[verb]?.safeParse(JSON.parse(answer.stdout)) ?? {};
      expect([words, error?.issues]).toEqual([words, undefined]);
    }
  });
});

describe(WATCH, () => {
  it('prints a line for each thing that happens, as its schema says', async () => {
    const repo = sandbox.path('repo');
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-C', repo, '-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], {
        env: sandbox.env,
      });
    mkdirSync(repo);
    git('init', '--quiet', '--initial-branch=main');
    git('commit', '--quiet', '--allow-empty', '--message', 'one');
    const flags = ['--branch', 'main=7', '--repo', repo, '--debounce', '0', '--reviewer', reviews.command];
    const child = sandbox.start(['review', 'watch', '--worker', 'w', ...flags, '--json']);
    let printed = '';
    child.stdout?.on('data', (chunk) => (printed += String(chunk)));
    const over = finished(child);
    const said = (is: string) => () => printed.includes(`"is":"${is}"`);
    await eventually('it watches', said('watching'));
    await eventually('it has triggered', said('triggered'));
    git('checkout', '--quiet', '-b', 'other');
    git('branch', '--quiet', '-D', 'main');
    await eventually('the branch is gone', said('gone'));
    child.kill('SIGINT');
    expect((await over).code).toBe(0);
    const lines = printed.trim().split('\n');
    expect(lines.flatMap((line) => PRINTED[WATCH]?.safeParse(JSON.parse(line)).error?.issues ?? [])).toEqual(
      [],
    );
  });
});

it('a reviewer’s queue is as documented: its submit is a list of words', async () => {
  const [program, file] = [sandbox.path('reviewer.sh'), sandbox.path('queue.json')];
  writeFileSync(program, 'cp "$REEVE_REVIEW_QUEUE" queue.new; mv queue.new queue.json; exec sleep 60\n');
  rmSync(file, { force: true });
  await sandbox.json(['review', ...reviews.words({ queued: sha('c1') }, '--reviewer', `sh ${program}`)]);
  const queue = await eventually('it has its queue', () => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return false;
    }
  });
  expect(reviewQueueSchema.safeParse(JSON.parse(queue)).error).toBe(undefined);
});
