/** What can be done with a session as it is. */
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { isLive, outcomeWord } from '../words/status.ts';

export type Action = 'attach' | 'send' | 'stop' | 'retire' | 'resume';

/** For each action null, or why it cannot be done. */
export function refusals(session: SessionDetailView): Readonly<Record<Action, string | null>> {
  const over = isLive(session) ? null : endedAs(session);
  return {
    attach: over ?? withoutOutput(session),
    send:
      over ??
      withoutTerminal(session, 'nothing can be typed into it') ??
      (session.harness === 'command'
        ? 'It is a plain command, of which nobody could tell whether it took a message.'
        : null),
    stop: over,
    retire: over,
    resume: isLive(session) ? `Run ${session.run.epoch} owns it. End that one first.` : null,
  };
}

function endedAs({ run }: SessionDetailView): string {
  return `It has no live run: the last one ended as ${run.outcome === null ? 'unknown' : outcomeWord(run.outcome)}.`;
}

/** A terminal can join a pane, and follow a log. */
function withoutOutput({ run }: SessionDetailView): string | null {
  return run.mode === 'tmux' || run.logPath !== null
    ? null
    : `It does not run in tmux (${run.mode}) and keeps no log, so there is nothing to join or to follow.`;
}

function withoutTerminal({ run }: SessionDetailView, so: string): string | null {
  return run.mode === 'tmux' ? null : `It does not run in tmux (${run.mode}), so ${so}.`;
}
