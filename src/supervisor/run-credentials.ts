/** Who writes: a run, by its id and its token. And what it is told when its write is refused. */
import { ReeveError } from '../api/errors.ts';
import type { Run } from '../lifecycle/run.ts';
import { TOKEN_VARIABLE } from '../process/environment.ts';
import { RUN_MARK } from '../process/tree.ts';
import type { Context } from './context.ts';

export interface RunCredentials {
  readonly run: string;
  readonly token: string;
  /** Of a write that was left in a spool: whether it is still there, or somebody else has taken it in. */
  readonly isStillLeft?: (() => boolean) | undefined;
}

/** Inside a run they are in the environment. */
export function credentialsFrom({ environment }: Pick<Context, 'environment'>): RunCredentials {
  const [run = '', token = ''] = [environment[RUN_MARK], environment[TOKEN_VARIABLE]];
  if (run !== '' && token !== '') return { run, token };
  throw new ReeveError(
    'usage',
    `${RUN_MARK} and ${TOKEN_VARIABLE} are not set, so this is not inside a run.`,
    { hint: 'It is for what `reeve run` started.' },
  );
}

interface Refused {
  readonly because: string;
  readonly current: Run | null;
}

export function fenced(
  run: string,
  { because, current }: Refused,
  more: { readonly says?: string; readonly details?: Readonly<Record<string, unknown>> } = {},
): ReeveError {
  const owner = current === null ? '' : ` ${ownerWords(run, current)}`;
  const says = more.says === undefined ? '' : ` ${more.says}`;
  return new ReeveError('fenced', `The write of run ${run} was refused: ${because}.${owner}${says}`, {
    hint: 'Nothing was changed. This process belongs to a run that is over, and should end.',
    details: { run, current: current?.id ?? null, ...more.details },
  });
}

function ownerWords(run: string, current: Run): string {
  if (current.id !== run) return `The session's current run is ${current.id}.`;
  return current.state === 'ended'
    ? 'It has ended, and no run has followed it.'
    : 'It is the session’s current run.';
}
