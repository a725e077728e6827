/** What is seen and typed in the pane of a run in tmux. tmux that does not answer is unknown; it never means an end. */
import { ReeveError } from '../api/errors.ts';
import type { ScreenView } from '../api/http-views.ts';
import type { LiveRun, Run } from '../lifecycle/run.ts';
import type { TmuxAnswer } from '../runtime/tmux.ts';
import type { Context } from './context.ts';
import { requireHere } from './reach.ts';
import { reconcileRun } from './reconcile.ts';
import { resolveCurrent } from './resolve.ts';
import { tmuxOf } from './pane-keeper.ts';

export interface LivePane {
  readonly sessionName: string;
  readonly harness: string;
  readonly run: LiveRun;
}

/** The live run in tmux that is meant; whatever else it is, is said in one sentence. */
export async function paneOf(context: Context, reference: string): Promise<LivePane> {
  const { session, run } = await resolveCurrent(context, reference);
  const seen = await reconcileRun(context, run);
  if (seen.run.state === 'ended') {
    const { outcome } = seen.run.ending;
    throw new ReeveError('not_found', `${session.name} has no live run: its last one ended as ${outcome}.`, {
      hint: `Start it again: reeve resume ${session.name} --tmux`,
    });
  }
  if (run.mode !== 'tmux') {
    throw new ReeveError(
      'usage',
      `${session.name} does not run in tmux, so it has no screen to look at or type into.`,
      {
        hint: `Such a session is started with --tmux. Its output, if it has a log: reeve logs ${session.name}`,
      },
    );
  }
  requireHere(context, { session, run: seen.run }, 'The screen');
  return { sessionName: session.name, harness: session.harness, run: seen.run };
}

/** The screen as text, with so many lines of what scrolled away. */
export async function screen(context: Context, reference: string, historyLines = 0): Promise<string> {
  const { sessionName, run } = await paneOf(context, reference);
  return answered(await tmuxOf(context).capture(run.id, historyLines), sessionName);
}

/** The screen as its terminal shows it, colours and all. */
export async function picture(context: Context, reference: string): Promise<ScreenView> {
  const { sessionName, run } = await paneOf(context, reference);
  return { run: run.id, ...answered(await tmuxOf(context).picture(run.id), sessionName) };
}

/** The command that joins the session, to be spawned with exactly this environment. */
export async function attachCommand(context: Context, reference: string) {
  const { run } = await paneOf(context, reference);
  return tmuxOf(context).attachCommand(run.id);
}

export interface Glance {
  readonly title: string;
  readonly screen: string;
}

/** Null when tmux does not answer, or not in time: then nothing is said about the pane. */
export async function glanceAt(context: Context, run: Run): Promise<Glance | null> {
  const tmux = tmuxOf(context);
  const [pane, captured] = [await tmux.pane(run.id), await tmux.capture(run.id, 0)];
  if (pane.is !== 'answered' || captured.is !== 'answered' || pane.value.pid !== run.keeper?.pid) return null;
  return { title: pane.value.title, screen: captured.value };
}

export function answered<T>(answer: TmuxAnswer<T>, sessionName: string): T {
  if (answer.is === 'answered') return answer.value;
  const because = answer.is === 'gone' ? 'its server does not know the pane' : answer.because;
  throw new ReeveError('tmux_unknown', `tmux did not answer for ${sessionName}: ${because}.`, {
    hint: `Whether the session lives does not depend on it: reeve show ${sessionName}`,
  });
}
