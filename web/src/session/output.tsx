import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { isLive } from '../words/status.ts';
import { Log } from './log.tsx';
import { Panel } from './panel.tsx';

/** A terminal is often wider than half a page; its screen is then shown instead, across all of it. */
export function hasScreen(session: SessionDetailView): boolean {
  return session.run.mode === 'tmux' && isLive(session);
}

/** What it writes, as it does. */
export function Output({ session }: { readonly session: SessionDetailView }) {
  const { run } = session;
  if (run.logPath !== null) return <Log key={run.id} run={run} />;
  return (
    <Panel title="Output">
      <p class="dim">{NO_LOG[run.mode]}</p>
    </Panel>
  );
}

const NO_LOG: Readonly<Record<SessionDetailView['run']['mode'], string>> = {
  foreground: 'It writes to the terminal it was started in; nothing of that is kept.',
  detached: 'It kept no log.',
  tmux: 'Its screen went with it; nothing of that is kept.',
  adopted: 'It was running before Reeve knew of it, and writes to where it did.',
};
