import { useId, useState } from 'preact/hooks';
import type { SessionDetailView } from '../../../src/api/http-views.ts';
import { refusals } from './applicable.ts';
import type { Action } from './applicable.ts';
import { AttachDialog } from './attach-dialog.tsx';
import { EndDialog } from './end-dialog.tsx';
import { ResumeDialog } from './resume-dialog.tsx';
import { SendDialog } from './send-dialog.tsx';

interface Offer {
  readonly action: Action;
  readonly label: string;
  readonly meaning: string;
}

const OFFERS: readonly Offer[] = [
  { action: 'attach', label: 'Attach', meaning: 'Copy the command that joins it in a terminal' },
  { action: 'send', label: 'Send…', meaning: 'Type a message into it' },
  { action: 'resume', label: 'Resume…', meaning: 'Start its next run' },
  { action: 'retire', label: 'Retire…', meaning: 'End it as superseded' },
  { action: 'stop', label: 'Stop…', meaning: 'End it and everything it started' },
];

export function Actions({
  session,
  changed,
}: {
  readonly session: SessionDetailView;
  readonly changed: () => void;
}) {
  const [open, setOpen] = useState<Action | null>(null);
  const because = refusals(session);
  return (
    <>
      <div class="actions" role="group" aria-label="Actions">
        {OFFERS.map((offer) => (
          <ActionButton
            key={offer.action}
            offer={offer}
            refusal={because[offer.action]}
            act={() => setOpen(offer.action)}
          />
        ))}
      </div>
      {open !== null && (
        <ActionDialog action={open} session={session} close={() => setOpen(null)} changed={changed} />
      )}
    </>
  );
}

/** One that cannot be used still takes the focus, so that its reason can be read by everybody. */
function ActionButton({
  offer: { action, label, meaning },
  refusal,
  act,
}: {
  readonly offer: Offer;
  readonly refusal: string | null;
  readonly act: () => void;
}) {
  const descriptionId = useId();
  return (
    <>
      <button
        type="button"
        class={action === 'stop' ? 'danger' : ''}
        aria-disabled={refusal !== null}
        aria-describedby={descriptionId}
        title={refusal ?? meaning}
        onClick={() => {
          if (refusal === null) act();
        }}
      >
        {label}
      </button>
      <span id={descriptionId} hidden>
        {refusal ?? meaning}
      </span>
    </>
  );
}

interface DialogProps {
  readonly action: Action;
  readonly session: SessionDetailView;
  readonly close: () => void;
  readonly changed: () => void;
}

function ActionDialog({ action, session, close, changed }: DialogProps) {
  // What was asked about stays what is done, whatever happens to the session while the dialog is open.
  const [asked] = useState(session);
  const props = { session: asked, close, changed };
  switch (action) {
    case 'attach':
      return <AttachDialog {...props} />;
    case 'send':
      return <SendDialog {...props} />;
    case 'resume':
      return <ResumeDialog {...props} />;
    case 'stop':
    case 'retire':
      return <EndDialog kind={action} {...props} />;
  }
}
