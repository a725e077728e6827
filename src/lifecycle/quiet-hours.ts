/**
 * Hours of the day in which nobody is told anything, by the clock on the wall. Only the time of day counts, in minutes, so
 * that a day with an hour more or less needs no rule of its own: whoever waits for the end looks at the clock again.
 */
export interface QuietHours {
  /** The first minute of the day that is quiet. */
  readonly fromMinute: number;
  /** The first that is no longer; before the other one when midnight is in between. */
  readonly toMinute: number;
}

const RANGE = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/;

/** `22:00-07:00`; null when it is none. The same time twice could mean always or never, so it is none. */
export function quietHoursFrom(text: string): QuietHours | null {
  const [fromHour, fromMinute, toHour, toMinute] = (RANGE.exec(text) ?? []).slice(1).map(Number);
  if (fromHour === undefined || fromMinute === undefined) return null;
  if (toHour === undefined || toMinute === undefined) return null;
  const hours = { fromMinute: fromHour * 60 + fromMinute, toMinute: toHour * 60 + toMinute };
  return hours.fromMinute === hours.toMinute ? null : hours;
}

export function isQuiet({ fromMinute, toMinute }: QuietHours, minuteOfDay: number): boolean {
  const isAfterStart = minuteOfDay >= fromMinute;
  const isBeforeEnd = minuteOfDay < toMinute;
  return fromMinute < toMinute ? isAfterStart && isBeforeEnd : isAfterStart || isBeforeEnd;
}

/** `07:00`. */
export function endOfQuiet({ toMinute }: QuietHours): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(Math.floor(toMinute / 60))}:${two(toMinute % 60)}`;
}
