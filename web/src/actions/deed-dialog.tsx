/**
 * A dialog that asks first, then does it, then says how it went.
 *
 *   asking --do--> doing --success--> done
 *                    |  \--failure--> failed --do--> doing
 *                    +--leave: it is closed; what was asked for goes on, unless it can be called back
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { failureOf, wasAborted } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { Dialog } from '../parts/dialog.tsx';
import { FailureText } from '../parts/message.tsx';

type Deed =
  | { readonly is: 'asking' }
  | { readonly is: 'doing' }
  | { readonly is: 'done'; readonly text: string }
  | { readonly is: 'failed'; readonly failure: RequestFailure };

interface DeedProps {
  readonly title: string;
  readonly verb: string;
  readonly doing: string;
  /** Returns the sentence that says what was achieved. */
  readonly act: (signal: AbortSignal) => Promise<string>;
  readonly kind?: 'danger' | 'main';
  /** Closing the dialog calls it back. */
  readonly canBeCalledBack?: boolean;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

export function DeedDialog(props: DeedProps) {
  const [deed, setDeed] = useState<Deed>({ is: 'asking' });
  const aborter = useRef(new AbortController());
  useEffect(
    () => () => {
      if (props.canBeCalledBack === true) aborter.current.abort();
    },
    [],
  );
  const act = () => {
    setDeed({ is: 'doing' });
    props.act(aborter.current.signal).then(
      (text) => setDeed({ is: 'done', text }),
      (error: unknown) => {
        if (!wasAborted(error)) setDeed({ is: 'failed', failure: failureOf(error) });
      },
    );
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act();
        }}
      >
        <fieldset disabled={deed.is === 'doing' || deed.is === 'done'}>{props.children}</fieldset>
        <Result deed={deed} doing={props.doing} />
        <Buttons deed={deed} {...props} />
      </form>
    </Dialog>
  );
}

function Result({ deed, doing }: { readonly deed: Deed; readonly doing: string }) {
  return (
    <>
      {/* There before it says anything, or a screen reader would not hear it. */}
      <div role="status" class="result">
        {deed.is === 'doing' && (
          <p class="doing">
            <span class="spinner" aria-hidden="true" /> {doing}
          </p>
        )}
        {deed.is === 'done' && <p class="done">✓ {deed.text}</p>}
      </div>
      <div role="alert">{deed.is === 'failed' && <FailureText failure={deed.failure} />}</div>
    </>
  );
}

function Buttons({
  deed,
  verb,
  kind = 'main',
  canBeCalledBack = false,
  close,
}: DeedProps & { readonly deed: Deed }) {
  const leave = useRef<HTMLButtonElement>(null);
  const isBusy = deed.is === 'doing';
  useEffect(() => {
    // The button that had it is gone.
    if (deed.is === 'done') leave.current?.focus();
  }, [deed.is]);
  const leaveWord = isBusy && !canBeCalledBack ? 'Leave it to work' : 'Cancel';
  return (
    <div class="buttons">
      {/* First of all safe: what the dialog opens with is the way out. */}
      <button type="button" ref={leave} onClick={close} autofocus={kind === 'danger'}>
        {deed.is === 'done' ? 'Close' : leaveWord}
      </button>
      {deed.is !== 'done' && (
        <button type="submit" class={kind} disabled={isBusy}>
          {deed.is === 'failed' ? 'Try again' : verb}
        </button>
      )}
    </div>
  );
}
