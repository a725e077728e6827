import { useState } from 'preact/hooks';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import type { SessionView } from '../../../src/api/session-view.ts';
import { verbPath } from '../api/paths.ts';
import { post } from '../api/request.ts';
import { shortCommand } from '../words/short.ts';
import { outcomeWord } from '../words/status.ts';
import { DeedDialog } from './deed-dialog.tsx';

export function ResumeDialog({
  session,
  close,
  changed,
}: {
  readonly session: SessionDetailView;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const [prompt, setPrompt] = useState('');
  // One that somebody talked to needs a terminal again; the daemon has none to give but a pane.
  const [tmux, setTmux] = useState(session.run.mode !== 'detached');
  const { run, nativeId, name } = session;
  const resume = async () => {
    const resumed = await post<SessionView>(verbPath(session.id, 'resume'), {
      tmux,
      ...(prompt.trim() === '' ? {} : { prompt }),
    });
    changed();
    return `Run ${resumed.run.epoch} owns ${name}: ${resumed.status}${resumed.run.pid === null ? '' : `, pid ${resumed.run.pid}`}.`;
  };
  return (
    <DeedDialog
      title={`Resume ${name}?`}
      verb="Resume it"
      doing="Starting its next run…"
      act={resume}
      close={close}
    >
      <dl class="what-ends">
        <dt>Last run</dt>
        <dd>
          {run.epoch}, {run.outcome === null ? 'unknown' : outcomeWord(run.outcome)}
        </dd>
        <dt>{nativeId === null ? 'Command' : 'Conversation'}</dt>
        <dd class="mono">{nativeId ?? shortCommand(session.argv)}</dd>
        <dt>Directory</dt>
        <dd class="mono">{session.cwd}</dd>
      </dl>
      {nativeId === null ? (
        <p class="dim">Its command is started again.</p>
      ) : (
        <label class="field">
          What to tell it <span class="dim">(may stay empty)</span>
          <textarea rows={3} value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} />
        </label>
      )}
      <label class="check">
        <input type="checkbox" checked={tmux} onChange={(event) => setTmux(event.currentTarget.checked)} />
        In a pane of tmux, to be joined; otherwise on its own, with a log
      </label>
    </DeedDialog>
  );
}
