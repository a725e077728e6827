/** Reeve as a library. What is named here is public; nothing else is. */
export { openReeve } from './supervisor/reeve.ts';
export type { Reeve } from './supervisor/reeve.ts';
export type { OpenOptions } from './supervisor/context.ts';
export type { LaunchRequest, LaunchResult, Owner } from './supervisor/launch.ts';
export type { ResumeRequest } from './supervisor/resume.ts';
export type { RetireResult } from './supervisor/retire.ts';
export type { StopResult } from './supervisor/stop.ts';
export type { Reconciled } from './supervisor/reconcile.ts';
export type { Range, SessionDetail } from './supervisor/list.ts';
export type { Story } from './supervisor/why.ts';
export type { LogsRequest } from './supervisor/logs.ts';
export { doctor } from './supervisor/doctor.ts';
export type { Check } from './supervisor/doctor.ts';
export { ReeveError } from './api/errors.ts';
export type { ErrorCode } from './api/errors.ts';
export type { RunView, SessionView } from './api/session-view.ts';
export type { Status } from './lifecycle/status.ts';
export type { Outcome, Run } from './lifecycle/run.ts';
