/** Long values in little room. The whole value stands in a `title` beside them, or on the session’s own page. */

/** The middle gives way: the root tells whose it is, the end tells which. */
export function shortPath(path: string, limit: number): string {
  if (path.length <= limit) return path;
  const parts = path.split('/').filter((part) => part.length > 0);
  const [root = '', ...rest] = parts;
  for (let dropped = 1; dropped < rest.length; dropped += 1) {
    const shorter = `/${root}/…/${rest.slice(dropped).join('/')}`;
    if (shorter.length <= limit) return shorter;
  }
  const last = rest.at(-1) ?? root;
  return last.length + 2 <= limit ? `…/${last}` : `…${last.slice(-(limit - 1))}`;
}

export function bytes(size: number): string {
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} KB`;
  const mega = size / (1024 * 1024);
  return mega < 1024 ? `${Math.round(mega)} MB` : `${(mega / 1024).toFixed(1)} GB`;
}

/** A host's name without the machine id behind it, which only tells copies of one image apart. */
export function hostName(host: string): string {
  return host.split('/')[0] ?? host;
}

/** A command on one line, whatever it contains. */
export function commandLine(argv: readonly string[]): string {
  return argv
    .map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word)))
    .join(' ')
    .replaceAll(/\s+/g, ' ');
}

/** A row has room for one line and a `title` for a paragraph; a command may be megabytes. */
const MAX_COMMAND_LENGTH = 1000;

export function shortCommand(argv: readonly string[]): string {
  // Each word is a character at least, so no more words than that are needed.
  const text = commandLine(argv.slice(0, MAX_COMMAND_LENGTH));
  return text.length > MAX_COMMAND_LENGTH ? `${text.slice(0, MAX_COMMAND_LENGTH)}…` : text;
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}
