/** `3m`, `2h`, `5d`: short enough for a column. */
export function age(fromMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - fromMs) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** `muted until 2026-11-15 20:52:11`; for good without a time. */
export function mutedWords({ until }: { readonly until: string | null }): string {
  return until === null ? 'muted' : `muted until ${clock(Date.parse(until))}`;
}

/** `2026-11-15 20:52:11`, in the reader's own time zone. */
export function clock(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
