/** Reeve as a library. What is named here is public; nothing else is. */
export { openReeve } from './supervisor/reeve.ts';
export type { Reeve, Reviews } from './supervisor/reeve.ts';
export type { OpenOptions } from './supervisor/context.ts';
export type { LaunchRequest, LaunchResult, Owner } from './supervisor/launch.ts';
export type { ResumeRequest } from './supervisor/resume.ts';
export type { RetireResult } from './supervisor/retire.ts';
export type { StopResult } from './supervisor/stop.ts';
export type { Reconciled } from './supervisor/reconcile.ts';
export type { Range, SessionDetail } from './supervisor/list.ts';
export type { Story } from './supervisor/why.ts';
export type { LogsRequest } from './supervisor/logs.ts';
export type { LiveHarness } from './supervisor/discovery.ts';
export type { Leftover, Scan, ScannedHarness } from './supervisor/scan.ts';
export type { SendRequest, Sent } from './supervisor/send.ts';
export type { SubmitRequest, Submitted } from './supervisor/submit.ts';
export type { SubmissionsRequest } from './supervisor/submissions.ts';
export type { AddedUsage, AddUsageRequest } from './supervisor/add-usage.ts';
export type { Heartbeat } from './supervisor/heartbeat.ts';
export type {
  Queued,
  QueuedHeartbeat,
  QueuedReview,
  QueuedSubmission,
  QueuedUsage,
} from './supervisor/queued.ts';
export type { RunCredentials } from './supervisor/run-credentials.ts';
export type { TriggerRequest } from './supervisor/review-request.ts';
export type { ReviewSubmitRequest } from './supervisor/review-submit.ts';
export type { CancelRequest } from './supervisor/review-cancel.ts';
export type { ReviewRange } from './supervisor/review-list.ts';
export type { WatchRequest, WatchTold } from './supervisor/review-watch.ts';
export type {
  CancelledView,
  ReviewDetailView,
  ReviewView,
  SubmittedView,
  TriggerView,
} from './api/http-views.ts';
export type { HarnessName } from './supervisor/reeve.ts';
export { doctor } from './supervisor/doctor.ts';
export type { Check } from './supervisor/doctor.ts';
export { ReeveError } from './api/errors.ts';
export type { ErrorCode } from './api/errors.ts';
export type { SubmissionDetailView, SubmissionsView, SubmissionView } from './api/submission-view.ts';
export type { RunView, SessionView } from './api/session-view.ts';
export type { SessionSpentView, SpentView, UsageView } from './api/usage-view.ts';
export type { UsageRequest } from './supervisor/usage.ts';
export type { Status } from './lifecycle/status.ts';
export type { Outcome, Run } from './lifecycle/run.ts';
