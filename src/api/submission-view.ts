/** What a run handed in, as `--json` and HTTP tell it. Times are ISO 8601. */
export interface SubmissionView {
  readonly id: string;
  /** Null once the session is forgotten. */
  readonly session: string | null;
  readonly sessionId: string;
  readonly run: string;
  readonly at: string;
  readonly key: string;
  /** The SHA-256 of its content. */
  readonly digest: string;
  readonly bytes: number;
  readonly accepted: boolean;
  /** Why it was not. */
  readonly because: string | null;
}

export interface SubmissionDetailView extends SubmissionView {
  readonly data: string;
}

export interface SubmissionsView {
  /** The latest first. */
  readonly submissions: readonly SubmissionView[];
  /** Whether there are more. */
  readonly isCut: boolean;
}
