/** Carries out what was confirmed, through the supervisor. Whatever comes of it is said, and nothing is thrown. */
import { ReeveError } from '../../api/errors.ts';
import type { SessionView } from '../../api/session-view.ts';
import { accepted } from '../../supervisor/owner-words.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import type { Action, Notice } from './model.ts';

export async function act(reeve: Reeve, action: Action, session: SessionView): Promise<Notice> {
  try {
    return good(await (action === 'stop' ? stop(reeve, session) : resume(reeve, session)));
  } catch (error) {
    return noticeOf(error);
  }
}

export function good(text: string): Notice {
  return { tone: 'good', text, hint: null };
}

export function noticeOf(error: unknown): Notice {
  const text = error instanceof Error ? error.message : String(error);
  return { tone: 'bad', text, hint: error instanceof ReeveError ? (error.hint ?? null) : null };
}

/** By the id of the run that was shown: should another have taken over meanwhile, it is refused, and nobody ends. */
async function stop(reeve: Reeve, { name, run: asked }: SessionView): Promise<string> {
  const { run, wasLive } = await reeve.stop(asked.id);
  const outcome = run.ending?.outcome ?? run.state;
  return wasLive
    ? `${name}: run ${run.id} ended as ${outcome}; ${run.ending?.evidence.at(-1) ?? 'nothing more is known'}.`
    : `${name}: nothing to stop; run ${run.id} had already ended as ${outcome}.`;
}

/** Where the last run was. This terminal stays ours, so what was in the foreground goes on detached. */
async function resume(reeve: Reeve, { id, run: last }: SessionView): Promise<string> {
  const mode = last.mode === 'tmux' ? 'tmux' : 'detached';
  const result = accepted(await reeve.resume(id, { mode }), Date.now());
  const { session, run } = result;
  if (result.is === 'attached') return `${session.name} is live already: run ${run.id}. Enter joins it.`;
  result.release();
  const pid = run.harness === null ? '' : ` (pid ${run.harness.pid})`;
  return `${session.name}: run ${run.id} (epoch ${run.epoch}) is executing${pid}. Enter joins it.`;
}
