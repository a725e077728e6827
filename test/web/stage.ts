/** The built page in a real browser, against a fake daemon of each test's own. */
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { openBrowser } from './browser.ts';
import { startFakeDaemon } from './fake-daemon.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import type { FakeWorld } from './fake-world.ts';

export interface Visit {
  readonly page: Page;
  readonly daemon: FakeDaemon;
}

interface VisitOptions {
  readonly path?: string;
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  /** Before the page is opened. */
  readonly prepare?: (daemon: FakeDaemon) => void;
}

export interface Stage {
  visit(world: FakeWorld, options?: VisitOptions): Promise<Visit>;
}

/** As it was built for the tests. */
export const PAGE = fileURLToPath(new URL('../../dist/web', import.meta.url));
/** What a page waits for is there in a moment; a machine under load takes a few. */
const LIMIT_MS = 15_000;

/** Registers what a test file needs around its tests. Whatever the page throws, or its policy refuses, fails the test. */
export function pageStage(): Stage {
  let browser: Browser | undefined;
  let contexts: BrowserContext[] = [];
  let daemons: FakeDaemon[] = [];
  let faults: string[] = [];

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    await Promise.all(daemons.map((daemon) => daemon.goAway()));
    const seen = faults;
    [contexts, daemons, faults] = [[], [], []];
    expect(seen).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
  });

  return {
    async visit(world, { path = '/', width = 1280, height = 800, scheme = 'light', prepare } = {}) {
      const daemon = await startFakeDaemon(world, PAGE);
      daemons.push(daemon);
      prepare?.(daemon);
      if (browser === undefined) throw new Error('There is no browser.');
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
      contexts.push(context);
      await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: daemon.url });
      const page = await context.newPage();
      page.setDefaultTimeout(LIMIT_MS);
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (message.text().includes('Content Security Policy')) faults.push(message.text());
      });
      await page.goto(daemon.url + path);
      return { page, daemon };
    },
  };
}

/** Names of the rows, as they stand. */
export async function rowNames(page: Page): Promise<string[]> {
  return page.locator('.row .who a').allTextContents();
}

export async function focusedText(page: Page): Promise<string> {
  return page.locator(':focus').first().innerText();
}

/** Whether anything is wider than the window, once what follows from a change of its size was painted. */
export async function overflows(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
      done(document.documentElement.scrollWidth > document.documentElement.clientWidth))))`,
  );
}
