import { useEffect, useRef, useState } from 'preact/hooks';
import type { JoinView, SessionDetailView } from '../../../src/api/http-views.ts';
import { verbPath } from '../api/paths.ts';
import { failureOf, post } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { Dialog } from '../parts/dialog.tsx';
import { FailureText } from '../parts/message.tsx';

/** It changes nothing, so it asks nothing: the command is there, and on the clipboard. */
export function AttachDialog({
  session,
  close,
}: {
  readonly session: SessionDetailView;
  readonly close: () => void;
}) {
  const [join, setJoin] = useState<JoinView | null>(null);
  const [failure, setFailure] = useState<RequestFailure | null>(null);
  const [said, setSaid] = useState('');
  const copy = (text: string) => void copied(text).then(setSaid);
  useEffect(() => {
    post<JoinView>(verbPath(session.id, 'attach'), {}).then(
      (answer) => {
        setJoin(answer);
        copy(answer.command);
      },
      (error: unknown) => setFailure(failureOf(error)),
    );
  }, []);
  return (
    <Dialog title={`Attach to ${session.name}`} close={close}>
      {join !== null && (
        <>
          <p>
            Run this in a terminal{join.host !== null && ` on ${join.host}`}.{' '}
            {session.run.mode === 'tmux'
              ? 'It joins the session; C-b d leaves it again, and it goes on.'
              : 'It follows what it writes; Ctrl-C leaves it again, and it goes on.'}
          </p>
          <Command text={join.command} />
        </>
      )}
      <p role="status">{join === null && failure === null ? 'Asking for the command' : said}</p>
      <div role="alert">{failure !== null && <FailureText failure={failure} />}</div>
      <div class="buttons">
        {join !== null && (
          <button type="button" onClick={() => copy(join.command)}>
            Copy again
          </button>
        )}
        <button type="button" class="main" onClick={close} autofocus>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Command({ text }: { readonly text: string }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <label class="field">
      Command
      <input
        ref={field}
        type="text"
        class="mono"
        readOnly
        value={text}
        onFocus={() => field.current?.select()}
      />
    </label>
  );
}

/** A browser may refuse the clipboard; then the command is there to be copied by hand. */
async function copied(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return '✓ Copied to the clipboard.';
  } catch {
    return 'The browser did not let it be copied; copy it from above.';
  }
}
