import { useState } from 'preact/hooks';
import { failureOf, post } from '../api/request.ts';
import type { RequestFailure } from '../api/request.ts';
import { loadOverview } from '../live/feed.ts';
import { FailureText, Message } from './message.tsx';

/** A browser that the daemon does not know: it is signed in by a link, or here by a code. */
export function Unauthorised() {
  const [failure, setFailure] = useState<RequestFailure | null>(null);
  const [code, setCode] = useState('');
  const signIn = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      await post('/sign-in', { code });
      // Whatever page this is, it begins anew.
      location.reload();
    } catch (error) {
      setFailure(failureOf(error));
    }
  };
  return (
    <Message title="Not signed in">
      <p>
        Run <code>reeve open</code>. It opens this page and signs the browser in.
      </p>
      <form class="sign-in" onSubmit={(event) => void signIn(event)}>
        <label>
          Or enter the code that it prints:{' '}
          <input
            type="text"
            value={code}
            onInput={(event) => setCode(event.currentTarget.value)}
            required
            autocomplete="off"
            spellcheck={false}
            maxLength={9}
            placeholder="XXXX-XXXX"
          />
        </label>
        <button type="submit">Sign in</button>
      </form>
      {failure !== null && <FailureText failure={failure} />}
      <button type="button" onClick={() => void loadOverview()}>
        Try again
      </button>
    </Message>
  );
}
