/** What can be done with a session as it is shown: the effect, or why not. The supervisor decides again when it acts. */
import type { SessionView } from '../../api/session-view.ts';
import type { Action, Effect, Notice } from './model.ts';

export type Plan =
  | { readonly is: 'do'; readonly effect: Effect }
  | { readonly is: 'refused'; readonly notice: Notice };

export function attachPlan(session: SessionView): Plan {
  const { name, run, status } = session;
  if (run.state === 'ended') {
    return refused(
      `${name} has no live run to attach to: it is ${status}.`,
      `r resumes it. Its output: reeve logs ${name}`,
    );
  }
  switch (run.mode) {
    case 'tmux':
      return { is: 'do', effect: { do: 'join', session } };
    case 'detached':
      return { is: 'do', effect: { do: 'follow', session } };
    case 'foreground':
      return refused(
        `${name} runs in the foreground of another terminal (pid ${run.pid ?? 'not known yet'}), where its output and input are.`,
        `Go there; or take it over into tmux: reeve resume ${name} --tmux --on-live retire`,
      );
    case 'adopted':
      return refused(
        `${name} was adopted while it ran (pid ${run.pid ?? 'not known'}), so it stays in the terminal it was started in.`,
        `Go there; or take it over into tmux: reeve resume ${name} --tmux --on-live retire`,
      );
  }
}

/** Null when there is something to ask about. */
export function refusalOf(action: Action, { name, run, status }: SessionView): Notice | null {
  const hasEnded = run.state === 'ended';
  if (action === 'stop' && hasEnded) return bad(`There is nothing to stop: ${name} is ${status}.`);
  if (action === 'resume' && !hasEnded)
    return bad(`${name} is live, so there is nothing to resume.`, 'Enter joins it, s stops it.');
  return null;
}

export function bad(text: string, hint: string | null = null): Notice {
  return { tone: 'bad', text, hint };
}

function refused(text: string, hint: string): Plan {
  return { is: 'refused', notice: bad(text, hint) };
}
