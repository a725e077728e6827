import { connection } from '../live/connection.ts';
import type { Connection } from '../live/connection.ts';
import { connectNow } from '../live/feed.ts';
import { overviewState } from '../live/sessions.ts';
import { timeOfDay } from '../words/time.ts';
import { Age } from './age.tsx';

/** Calm, and only there when what is shown is not current. */
export function ConnectionBar() {
  const state = connection.value;
  const isShown = overviewState.value.is === 'ready' && (state.is === 'lost' || state.is === 'refused');
  return (
    <div class={isShown ? 'connection-bar' : 'connection-bar none'}>
      {/* It stays in the document, or a screen reader would not hear what appears in it. */}
      <p role="status">{isShown && <BarText state={state} />}</p>
      {isShown && state.is === 'lost' && (
        <span class="dim" aria-hidden="true">
          <Age sinceMs={state.sinceMs} /> ago
        </span>
      )}
      {isShown && (
        <button type="button" class="small" onClick={connectNow}>
          Try now
        </button>
      )}
    </div>
  );
}

function BarText({ state }: { readonly state: Connection }) {
  if (state.is === 'refused') {
    return (
      <>
        <b>No longer authorised.</b> Open this page with <code>reeve open</code>.
      </>
    );
  }
  if (state.is !== 'lost') return null;
  const since = timeOfDay(state.sinceMs);
  return (
    <>
      <b>Not connected</b> to the daemon since {since}. What is shown is as of then. Trying again by itself.
    </>
  );
}
