/** Every address of the HTTP API that this page asks. */
const sessions = '/v1/sessions';

export type Range = 'recent' | 'all' | 'live';

export const overviewPath = (range: Range): string => `${sessions}?range=${range}`;

export const sessionsPath = (ids: readonly string[]): string =>
  `${sessions}?ids=${ids.map((id) => encodeURIComponent(id)).join(',')}`;

export const sessionPath = (reference: string): string => `${sessions}/${encodeURIComponent(reference)}`;

export const whyPath = (reference: string): string => `${sessionPath(reference)}/why`;

export const treePath = (reference: string): string => `${sessionPath(reference)}/tree`;

export const screenPath = (reference: string): string => `${sessionPath(reference)}/screen`;

export const latestEventsPath = (reference: string, count: number): string =>
  `${sessionPath(reference)}/events?limit=${count}`;

export const earlierEventsPath = (reference: string, before: number, count: number): string =>
  `${sessionPath(reference)}/events?before=${before}&limit=${count}`;

export const logPath = (reference: string, lines: number): string =>
  `${sessionPath(reference)}/logs?lines=${lines}`;

export const followLogPath = (reference: string, lines: number): string =>
  `${sessionPath(reference)}/logs?follow=true&lines=${lines}`;

export type Verb = 'stop' | 'kill' | 'retire' | 'resume' | 'send' | 'attach';

export const verbPath = (reference: string, verb: Verb): string => `${sessionPath(reference)}/${verb}`;

export type ReviewRange = 'current' | 'all';

export const reviewsPath = (range: ReviewRange): string =>
  range === 'all' ? '/v1/reviews?all=true' : '/v1/reviews';

export const eventsPath = (after: number): string => `/v1/events?after=${after}`;

export const DAEMON_PATH = '/v1/daemon';
