/** Reviews on a sandbox, by a reviewer that is a real program and does as it is told: see test/fixtures/reviewer.mjs. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ReviewDetailView, ReviewView, TriggerView } from '../../src/api/http-views.ts';
import { eventually, see, startedWith } from './processes.ts';
import type { Seen } from './processes.ts';
import { finished } from './sandbox.ts';
import type { Finished, Sandbox } from './sandbox.ts';

export const REVIEWER = fileURLToPath(new URL('../fixtures/reviewer.mjs', import.meta.url));

/** Tests write heads short; what they stand for is the whole id of a commit. */
export function sha(short: string): string {
  return short.padEnd(40, '0');
}

export function brief(head: string): string {
  return head.replace(/0+$/, '');
}

export type ReviewerKind = 'waits' | 'deaf' | 'quick' | 'dies';

export interface ReviewFailure {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details: Record<string, unknown>;
  };
}

interface Told {
  readonly process: Seen;
  readonly token: string;
  readonly queue: readonly { id: string; pr: string; head: string; tree: string | null }[];
}

export interface Reviewing {
  /** The reviewer's command line, as one word. */
  readonly command: string;
  /** The words of a trigger of the worker `w`. */
  words(heads: Readonly<Record<string, string>>, ...more: readonly string[]): readonly string[];
  trigger(heads: Readonly<Record<string, string>>, ...more: readonly string[]): Promise<TriggerView>;
  /** Any `review` command, with its whole answer. */
  review(words: readonly string[], env?: Record<string, string>): Promise<Finished>;
  json<T>(words: readonly string[], expectedCode?: number): Promise<T>;
  list(...more: readonly string[]): Promise<readonly ReviewView[]>;
  show(id: string): Promise<ReviewDetailView>;
  /** `PR at HEAD: status`, of all there ever were, heads as tests write them. */
  told(): Promise<readonly string[]>;
  /** The reviewer of a run, once it has read its queue. */
  reviewer(run: string | undefined): Promise<Told>;
  /** Has the reviewer submit, and tells with which code that ended. */
  submit(id: string, verdict: string): Promise<number>;
  exit(run: string, code: number): void;
  /** What executes as a reviewer of this sandbox. */
  alive(): readonly Seen[];
}

export function reviewingIn(sandbox: Sandbox, kind: ReviewerKind = 'waits'): Reviewing {
  const directory = sandbox.path('reviews');
  mkdirSync(directory, { recursive: true });
  const command = `'${process.execPath}' '${REVIEWER}' '${directory}' ${kind}`;
  const file = (name: string) => `${directory}/${name}`;
  // Whole from its first moment: the reviewer looks all the time.
  const put = (name: string, text: string) => {
    writeFileSync(file(`${name}.new`), text);
    renameSync(file(`${name}.new`), file(name));
  };
  const words: Reviewing['words'] = (heads, ...more) => [
    'trigger',
    '--worker',
    'w',
    ...Object.entries(heads).flatMap(([pr, head]) => ['--pr', `${pr}=${sha(head)}`]),
    ...(more.includes('--reviewer') ? [] : ['--reviewer', command]),
    ...(more.includes('--grace') ? [] : ['--grace', '0.3']),
    ...more,
  ];
  const review: Reviewing['review'] = (given, env = {}) =>
    finished(sandbox.start(['review', ...given], { env: { ...sandbox.env, ...env } }));
  const json: Reviewing['json'] = async <T>(given: readonly string[], expectedCode = 0) => {
    const result = await review([...given, '--json']);
    if (result.code !== expectedCode)
      throw new Error(`review ${given.join(' ')} exited ${result.code}: ${result.stdout}${result.stderr}`);
    return JSON.parse(result.stdout) as T; // The caller names the shape it then compares.
  };
  const list: Reviewing['list'] = async (...more) =>
    (await json<{ reviews: ReviewView[] }>(['ls', ...more])).reviews;
  return {
    command,
    words,
    trigger: (heads, ...more) => json<TriggerView>(words(heads, ...more)),
    review,
    json,
    list,
    show: (id) => json(['show', id]),
    told: async () =>
      (await list('--all')).map(({ pr, head, status }) => `${pr} at ${brief(head)}: ${status}`),
    reviewer: async (run) => {
      await eventually(`run ${run} has its queue`, () => existsSync(file(`${run}.json`)));
      const { pid, ...told } = JSON.parse(readFileSync(file(`${run}.json`), 'utf8')) as Omit<
        Told,
        'process'
      > & {
        pid: number;
      };
      return { process: see(pid), ...told };
    },
    submit: async (id, verdict) => {
      put(`submit-${id}`, verdict);
      await eventually('it is submitted', () => existsSync(file(`submit-${id}.done`)));
      return (JSON.parse(readFileSync(file(`submit-${id}.done`), 'utf8')) as { status: number }).status;
    },
    exit: (run, code) => put(`exit-${run}`, String(code)),
    // What it starts to submit inherits the mark, but not the command line.
    alive: () =>
      startedWith(`REEVE_HOME=${sandbox.home}`).filter(({ pid }) => {
        const [, program] = commandOf(pid);
        return program === REVIEWER;
      }),
  };
}

function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
