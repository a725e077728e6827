/** Which page is shown: `/`, `/reviews` or `/s/{session}`. Links are plain links; clicks on them are taken here. */
import { signal } from '@preact/signals';

export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'session'; readonly reference: string }
  | { readonly page: 'reviews' }
  | { readonly page: 'nowhere' };

export const route = signal<Route>({ page: 'overview' });

/** Set by going from page to page, never by the first load: then the focus moves along. */
export const hasNavigated = signal(false);

export function startRouting(): void {
  route.value = routeOf(location.pathname);
  // The overview restores its own position, once its rows are there again.
  history.scrollRestoration = 'manual';
  window.addEventListener('popstate', arrive);
  document.addEventListener('click', (event) => {
    const path = plainClickOn(event);
    if (path === null) return;
    event.preventDefault();
    go(path);
  });
}

export function go(path: string): void {
  if (path !== location.pathname) history.pushState(null, '', path);
  arrive();
}

export const REVIEWS_HREF = '/reviews';

export function sessionHref(id: string): string {
  return `/s/${encodeURIComponent(id)}`;
}

function arrive(): void {
  hasNavigated.value = true;
  route.value = routeOf(location.pathname);
}

function routeOf(path: string): Route {
  if (path === '/' || path === '/index.html') return { page: 'overview' };
  if (/^\/reviews\/?$/.test(path)) return { page: 'reviews' };
  const reference = /^\/s\/([^/]+)\/?$/.exec(path)?.[1];
  return reference === undefined
    ? { page: 'nowhere' }
    : { page: 'session', reference: decodeURIComponent(reference) };
}

/** Anything but a plain click on a link of this page keeps its usual meaning: a new tab, a download, another site. */
function plainClickOn(event: MouseEvent): string | null {
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
  if (!isPlain || event.defaultPrevented || !(link instanceof HTMLAnchorElement)) return null;
  const isOurs = link.origin === location.origin && link.hash === '' && link.target === '';
  return isOurs && routeOf(link.pathname).page !== 'nowhere' ? link.pathname : null;
}
