/**
 * The browsers that were signed in. Each has a cookie of its own, of which only the hash is kept: whoever reads the file
 * is let in nowhere. A daemon that takes over from another within seconds goes on with them, so that a page that is open does too;
 * any other one signs them out.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** A browser signs in again once a month. */
export const BROWSER_LIFE_MS = 30 * 24 * 3_600_000;
/** More than a person has; the one that was signed in first goes. */
const MAX_BROWSERS = 20;

export interface Browsers {
  /** The secret for the cookie of one more. */
  signIn(nowMs: number): string;
  isSignedIn(secret: string, nowMs: number): boolean;
  /** All of them. How many there were. */
  signOut(): number;
  /** For what goes on until then. */
  untilSignOut(): AbortSignal;
}

interface Browser {
  readonly hash: string;
  readonly sinceMs: number;
}

export function openBrowsers(file: string): Browsers {
  let known = readBrowsers(file);
  let signingOut = new AbortController();
  const keep = (browsers: readonly Browser[]) => {
    writeFileSync(`${file}.new`, `${JSON.stringify(browsers)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    known = browsers;
  };
  return {
    signIn(nowMs) {
      const secret = randomBytes(32).toString('base64url');
      const others = known.filter((each) => isCurrent(each, nowMs)).slice(1 - MAX_BROWSERS);
      keep([...others, { hash: hashOf(secret), sinceMs: nowMs }]);
      return secret;
    },
    isSignedIn(secret, nowMs) {
      const hash = hashOf(secret);
      return known.some((each) => each.hash === hash && isCurrent(each, nowMs));
    },
    signOut() {
      const count = known.length;
      keep([]);
      signingOut.abort();
      signingOut = new AbortController();
      return count;
    },
    untilSignOut: () => signingOut.signal,
  };
}

function isCurrent({ sinceMs }: Browser, nowMs: number): boolean {
  return nowMs - sinceMs < BROWSER_LIFE_MS;
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** A file that is not one of ours signs everybody out, and nobody in. */
function readBrowsers(file: string): readonly Browser[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found.filter(isBrowser) : [];
  } catch {
    return [];
  }
}

function isBrowser(value: unknown): value is Browser {
  const { hash, sinceMs } = Object(value) as Partial<Browser>;
  return typeof hash === 'string' && typeof sinceMs === 'number';
}
