/**
 * Who may ask. Over the socket, whoever may open it: this user. Over the loopback, which every program and every web page
 * on the machine can reach, only those who hold the token, or a browser's own cookie, which it gets for a link or a code that
 * opens once; and nothing that was sent there by a page from elsewhere, but a person who follows a link to the page. What a run holds opens only what is that run's own.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ReeveError } from '../../api/errors.ts';
import { BROWSER_LIFE_MS } from './browsers.ts';
import type { Browsers } from './browsers.ts';

export type Via = 'socket' | 'loopback';

export type Caller =
  | { readonly is: 'user' }
  | { readonly is: 'run'; readonly run: string; readonly token: string };

interface Credentials {
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
}

const COOKIE = 'reeve';
/** From the answer of `reeve open` to a browser that was just started, or a code that was typed. */
const LINK_LIFE_MS = 60_000;
const MAX_LINKS = 100;
/**
 * Without letters that are taken for others. Eight of them are 40 bits: with ten thousand tries a second, a code is guessed
 * within its minute once in two million times. So wrong ones are not counted: whoever entered enough of them would
 * keep out the person with the right one, and every user of the machine can.
 */
const CODE_LETTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const CODE_LENGTH = 8;

/** Each of the two opens the page, and one of them once. */
interface Link {
  readonly key: string;
  readonly code: string;
}

export interface Access {
  /** Null when nothing that opens was shown. */
  caller(via: Via, credentials: Credentials, nowMs?: number): Caller | null;
  /** For one use of the page, for a minute. */
  makeLink(nowMs: number): Link;
  /** The cookie for a browser that came with a key or a code; null when that is used up, too old, or made up. */
  signIn(shown: { readonly key: string } | { readonly code: string }, nowMs: number): string | null;
  /** Every browser, and whoever has a link or a code that was not used yet; how many browsers there were. */
  signOut(): number;
  /** For what goes on until then. */
  untilSignOut(): AbortSignal;
}

export function createAccess(token: string, browsers: Browsers): Access {
  const links = new Map<string, { readonly code: string; readonly madeAtMs: number }>();
  const isOver = (atMs: number, nowMs: number) => nowMs - atMs > LINK_LIFE_MS;
  const keyOf = (code: string) => [...links].find(([, link]) => isSame(link.code, code))?.[0] ?? '';
  return {
    caller(via, { authorization, cookie }, nowMs = Date.now()) {
      // What is shown counts, even when it opens nothing: over the socket it would otherwise be as good as nothing shown.
      if (authorization !== undefined) {
        const bearer = /^Bearer +([\w.-]{1,200})$/i.exec(authorization)?.[1] ?? '';
        if (isSame(bearer, token)) return { is: 'user' };
        const [, run, runToken] = /^(r-[a-z0-9]+)\.([\w-]+)$/.exec(bearer) ?? [];
        return run === undefined || runToken === undefined ? null : { is: 'run', run, token: runToken };
      }
      if (via === 'socket') return { is: 'user' };
      const given = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]+)`).exec(cookie ?? '')?.[1];
      return given !== undefined && browsers.isSignedIn(given, nowMs) ? { is: 'user' } : null;
    },
    makeLink(nowMs) {
      for (const [key, { madeAtMs }] of links) if (isOver(madeAtMs, nowMs)) links.delete(key);
      if (links.size >= MAX_LINKS) throw new ReeveError('busy', 'Too many links are open; wait a minute.');
      const link = { key: randomBytes(24).toString('base64url'), code: newCode() };
      links.set(link.key, { code: link.code, madeAtMs: nowMs });
      return link;
    },
    signIn(shown, nowMs) {
      const key = 'key' in shown ? shown.key : keyOf(shown.code.replaceAll(/[\s-]/g, '').toUpperCase());
      const link = links.get(key);
      links.delete(key);
      if (link === undefined || isOver(link.madeAtMs, nowMs)) return null;
      // For this machine's page alone: no script reads it, and no other page's request carries it.
      return `${COOKIE}=${browsers.signIn(nowMs)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${BROWSER_LIFE_MS / 1000}`;
    },
    signOut() {
      links.clear();
      return browsers.signOut();
    },
    untilSignOut: () => browsers.untilSignOut(),
  };
}

function newCode(): string {
  // A byte has eight times as many values as there are letters, so each is as likely as any other.
  return Array.from(randomBytes(CODE_LENGTH), (byte) => CODE_LETTERS[byte % CODE_LETTERS.length]).join('');
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
  /** Whether a browser goes to the page itself, which holds nothing of anybody's, as by a link in a mail. */
  readonly isVisit: boolean;
}

/** Why a request cannot come from this user's own page or program; null when it may. */
export function foreignness(via: Via, port: number, { host, origin, site, isVisit }: Sender): string | null {
  if (via === 'socket') {
    // No browser reaches a socket; something that pretends to be one is up to nothing good.
    return origin === undefined ? null : 'a page sent it';
  }
  const own = [`127.0.0.1:${port}`, `localhost:${port}`];
  // A name of elsewhere that was made to lead here.
  if (host === undefined || !own.includes(host)) return `it is addressed to ${JSON.stringify(host ?? '')}`;
  if (origin !== undefined && !own.some((name) => origin === `http://${name}`))
    return `a page of ${JSON.stringify(origin)} sent it`;
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  if (!isOwn && !isVisit) return 'a page from elsewhere sent it';
  return null;
}
