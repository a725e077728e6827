/**
 * Whether a session's notifications are muted. A mute is an event of the session (`notify.muted`, with until when, or for
 * good), and so is its end (`notify.unmuted`): the latest of them decides, for every host that shares the store.
 *
 * What happens while it is muted is not told later either: whoever mutes a session does not want to hear of it. That is
 * what makes it another thing than quiet hours, in which everything waits.
 */
export const MUTE_KINDS = ['notify.muted', 'notify.unmuted'] as const;

/** The latest of these kinds. */
export interface MuteEvent {
  readonly seq: number;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Mute {
  /** Null for good, until somebody ends it. */
  readonly untilMs: number | null;
}

/** Null when it is not muted now. */
export function muteAt(latest: MuteEvent | null, nowMs: number): Mute | null {
  if (latest?.kind !== 'notify.muted') return null;
  const { untilMs } = latest.data;
  if (typeof untilMs !== 'number') return { untilMs: null };
  return nowMs < untilMs ? { untilMs } : null;
}

/** Of an event that may be read long after it happened: one that was there before the mute is told. */
export function isMuted(
  latest: MuteEvent | null,
  { seq, atMs }: { readonly seq: number; readonly atMs: number },
): boolean {
  return latest !== null && latest.seq < seq && muteAt(latest, atMs) !== null;
}
