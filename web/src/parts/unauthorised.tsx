import { loadOverview } from '../live/feed.ts';
import { Message } from './message.tsx';

export function Unauthorised() {
  return (
    <Message title="This browser is not authorised">
      <p>
        Open this page with <code>reeve open</code>.
      </p>
      <p class="dim">
        It signs this browser in to your daemon. Nothing is shown to one that it does not know.
      </p>
      <button type="button" onClick={() => void loadOverview()}>
        Try again
      </button>
    </Message>
  );
}
