import type { ComponentChildren } from 'preact';
import type { RequestFailure } from '../api/request.ts';

/** A page, or a part of one, that has nothing to show but a sentence, and what to do next. */
export function Message({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="message">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

export function FailureMessage({
  title,
  failure,
  retry,
}: {
  readonly title: string;
  readonly failure: RequestFailure;
  readonly retry: () => void;
}) {
  return (
    <Message title={title}>
      <FailureText failure={failure} />
      <button type="button" onClick={retry}>
        Try again
      </button>
    </Message>
  );
}

/** What failed and why, and what to do next. */
export function FailureText({ failure }: { readonly failure: RequestFailure }) {
  return (
    <div class="failure">
      <p>{failure.message}</p>
      {failure.hint !== null && <p class="hint">{withCode(failure.hint)}</p>}
    </div>
  );
}

/** Words between backticks are commands. */
export function withCode(text: string): ComponentChildren {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part));
}
