/**
 * Who may ask. Over the socket, whoever may open it: this user. Over the loopback, which every program and every web page
 * on the machine can reach, only those who hold the token, or the cookie that a one-time link gave to the page; and none
 * that was sent there by a page from elsewhere. What a run holds opens only what is that run's own.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ReeveError } from '../../api/errors.ts';

export type Via = 'socket' | 'loopback';

export type Caller =
  | { readonly is: 'user' }
  | { readonly is: 'run'; readonly run: string; readonly token: string };

interface Credentials {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
}

const COOKIE = 'reeve';
/** From the answer of `reeve open` to a browser that was just started. */
const LINK_LIFE_MS = 60_000;
const MAX_LINKS = 100;

export interface Access {
  /** Null when nothing that opens was shown. */
  caller(via: Via, credentials: Credentials): Caller | null;
  /** A key for one use of the page, for a minute. */
  makeKey(nowMs: number): string;
  /** The cookie for a page that came with a key; null when the key is used up, too old, or made up. */
  useKey(key: string, nowMs: number): string | null;
}

export function createAccess(token: string): Access {
  // Made of the token, so that a page that is open goes on after the daemon was replaced.
  const pass = createHash('sha256').update(`page ${token}`).digest('base64url');
  const keys = new Map<string, number>();
  return {
    caller(via, { authorization, cookie }) {
      // What is shown counts, even when it opens nothing: over the socket it would otherwise be as good as nothing shown.
      if (authorization !== undefined) {
        const bearer = /^Bearer +([\w.-]{1,200})$/i.exec(authorization)?.[1] ?? '';
        if (isSame(bearer, token)) return { is: 'user' };
        const [, run, runToken] = /^(r-[a-z0-9]+)\.([\w-]+)$/.exec(bearer) ?? [];
        return run === undefined || runToken === undefined ? null : { is: 'run', run, token: runToken };
      }
      if (via === 'socket') return { is: 'user' };
      const given = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]+)`).exec(cookie ?? '')?.[1];
      return given !== undefined && isSame(given, pass) ? { is: 'user' } : null;
    },
    makeKey(nowMs) {
      for (const [key, madeAtMs] of keys) if (nowMs - madeAtMs > LINK_LIFE_MS) keys.delete(key);
      if (keys.size >= MAX_LINKS) throw new ReeveError('busy', 'Too many links are open; wait a minute.');
      const key = randomBytes(24).toString('base64url');
      keys.set(key, nowMs);
      return key;
    },
    useKey(key, nowMs) {
      const madeAtMs = keys.get(key);
      keys.delete(key);
      if (madeAtMs === undefined || nowMs - madeAtMs > LINK_LIFE_MS) return null;
      // For this machine's page alone: no script reads it, and no other page's request carries it.
      return `${COOKIE}=${pass}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${30 * 24 * 3600}`;
    },
  };
}

/** Of equal length by hashing, so that the time it takes tells nothing. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

export interface Sender {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
}

/** Why a request cannot come from this user's own page or program; null when it may. */
export function foreignness(via: Via, port: number, { host, origin, site }: Sender): string | null {
  if (via === 'socket') {
    // No browser reaches a socket; something that pretends to be one is up to nothing good.
    return origin === undefined ? null : 'a page sent it';
  }
  const own = [`127.0.0.1:${port}`, `localhost:${port}`];
  // A name of elsewhere that was made to lead here.
  if (host === undefined || !own.includes(host)) return `it is addressed to ${JSON.stringify(host ?? '')}`;
  if (origin !== undefined && !own.some((name) => origin === `http://${name}`))
    return `a page of ${JSON.stringify(origin)} sent it`;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'a page from elsewhere sent it';
  return null;
}
