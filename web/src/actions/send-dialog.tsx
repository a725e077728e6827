import { useState } from 'preact/hooks';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { verbPath } from '../api/paths.ts';
import { post } from '../api/request.ts';
import { whyOf } from '../words/status.ts';
import { DeedDialog } from './deed-dialog.tsx';

export function SendDialog({
  session,
  close,
  changed,
}: {
  readonly session: SessionDetailView;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const [text, setText] = useState('');
  // Refused otherwise: while it works, or asks, the text would go somewhere else.
  const [queue, setQueue] = useState(session.status !== 'idle');
  const { name, run, status } = session;
  const send = async (signal: AbortSignal) => {
    await post(verbPath(run.id, 'send'), { text, queue }, signal);
    changed();
    return `${name} has taken the message.`;
  };
  return (
    <DeedDialog
      title={`Send to ${name}`}
      verb="Send"
      doing={
        queue
          ? 'Waiting until it is idle, then for it to take the message…'
          : 'Waiting for it to take the message…'
      }
      act={send}
      canBeCalledBack
      close={close}
    >
      <p class="dim">
        Typed into run {run.epoch} (<span class="mono">{run.id}</span>), which is <b>{status}</b>
        {status === 'needs-input' && `: it waits for ${whyOf(session)}`}. The text is not kept on record.
      </p>
      <label class="field">
        Message
        <textarea
          rows={4}
          required
          autofocus
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={queue} onChange={(event) => setQueue(event.currentTarget.checked)} />{' '}
        Wait until it is idle
      </label>
    </DeedDialog>
  );
}
