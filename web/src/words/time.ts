/** `12s`, `3m`, `2h`, `5d`: short enough for a column, and the same as in the terminal. */
export function age(fromMs: number, nowMs: number): string {
  return length(nowMs - fromMs);
}

export function length(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** `3m 20s`, `2h 5m`, `3d 4h`: where there is room for two. */
export function longLength(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return durationMs > 0 ? 'less than 1s' : '0s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}

/** `2026-11-15 20:52:11`, in the reader's own time zone. */
export function clock(atMs: number): string {
  const at = new Date(atMs);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${timeOfDay(atMs)}`;
}

export function timeOfDay(atMs: number): string {
  const at = new Date(atMs);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** `20:52:11` today, `11-15 20:52` this year, `2025-11-15` before: of one width, with the whole in a `title`. */
export function shortClock(atMs: number, nowMs: number): string {
  const [at, now] = [new Date(atMs), new Date(nowMs)];
  if (at.toDateString() === now.toDateString()) return timeOfDay(atMs);
  return at.getFullYear() === now.getFullYear() ? clock(atMs).slice(5, 16) : clock(atMs).slice(0, 10);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
