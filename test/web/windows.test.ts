/** Several windows of one browser side by side, which has six connections to a server for all of them together. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { pageStage } from './stage.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import { tenSessions } from './fake-scenes.ts';
import { end } from './fake-verbs.ts';

const stage = pageStage();
const WINDOWS = 8;
/** Eight windows at once on a busy machine. */
const LIMIT_MS = 30_000;

/** All live, the first of them first. */
async function openWindows(path = '/'): Promise<{ pages: readonly Page[]; daemon: FakeDaemon }> {
  const { page, daemon } = await stage.visit(tenSessions(), { path });
  await page.locator('.live-mark.is-live').waitFor();
  const pages = [page];
  while (pages.length < WINDOWS) {
    const next = await page.context().newPage();
    next.setDefaultTimeout(LIMIT_MS);
    await next.goto(daemon.url + path);
    await next.locator('.live-mark.is-live').waitFor();
    pages.push(next);
  }
  return { pages, daemon };
}

const all = (pages: readonly Page[], look: (page: Page) => Promise<unknown>) => Promise.all(pages.map(look));
const endedGroup = (count: number) => (page: Page) =>
  page.getByRole('region', { name: `Ended ${count}` }).waitFor();

const soon = <T>(look: () => T) => expect.poll(look, { timeout: LIMIT_MS });
const eventsAsked = ({ asked }: FakeDaemon) =>
  asked.map(({ path }) => path).filter((path) => path.startsWith('/v1/events'));

describe('eight windows of one browser', () => {
  test('share one event stream, and each hears everything once', async () => {
    const { pages, daemon } = await openWindows();
    expect(daemon.streamCount).toBe(1);
    end(daemon, daemon.world.named('web-claude'), 'failed', 'the command returned 2');
    await all(pages, endedGroup(4));
    expect(eventsAsked(daemon)).toHaveLength(1);
  });

  test('miss nothing when the one that has the stream is closed', async () => {
    const { pages, daemon } = await openWindows();
    const [first, ...others] = pages;
    const heard = daemon.push(daemon.world.named('web-claude'), 'harness.work.continued', 'It went on.');
    await soon(() => daemon.asked.filter(({ path }) => path.includes('ids=')).length).toBe(WINDOWS);
    await first?.close();
    // While nobody listens.
    end(daemon, daemon.world.named('api-codex'), 'failed', 'the command returned 3');
    await all(others, endedGroup(4));
    await soon(() => daemon.streamCount).toBe(1);
    expect(eventsAsked(daemon).at(-1)).toBe(`/v1/events?after=${heard.seq}`);
    end(daemon, daemon.world.named('web-claude'), 'stopped', 'alice stopped it');
    await all(others, endedGroup(5));
  });

  test('say all together that the daemon is gone, and come back together', async () => {
    const { pages, daemon } = await openWindows();
    await daemon.goAway();
    await all(pages, (page) => page.locator('.live-mark.is-lost').waitFor());
    end(daemon, daemon.world.named('api-codex'), 'failed', 'the command returned 3');
    await daemon.listen();
    // If it is still there: the page may have found the daemon by itself by now.
    await pages
      .at(-1)
      ?.getByRole('button', { name: 'Try now' })
      .evaluateAll((buttons) => {
        for (const button of buttons) (button as unknown as { click(): void }).click();
      });
    await all(pages, (page) => page.locator('.live-mark.is-live').waitFor());
    await all(pages, endedGroup(4));
    await soon(() => daemon.streamCount).toBe(1);
  });

  test('one whose overview is older than what was told before it listened reads the rest', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    const late = await page.context().newPage();
    late.setDefaultTimeout(LIMIT_MS);
    let letGo = () => {};
    const isTold = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await late.route('**/v1/sessions?range=recent', async (route) => {
      const response = await route.fetch();
      end(daemon, daemon.world.named('web-claude'), 'failed', 'the command returned 2');
      await isTold;
      await route.fulfill({ response });
    });
    const opened = late.goto(daemon.url);
    await endedGroup(4)(page);
    letGo();
    await opened;
    await endedGroup(4)(late);
    // Not by the look of every so often: the log itself was asked, behind what the overview knew.
    expect(eventsAsked(daemon)).toEqual([expect.any(String), eventsAsked(daemon)[0]]);
  });

  test('on eight logs still have a connection to ask by, and each log goes on', async () => {
    const { pages, daemon } = await openWindows('/s/web-claude');
    await all(pages, (page) => page.locator('.log').getByText('12 passed').waitFor());
    expect(daemon.logStreamCount).toBeLessThanOrEqual(3);
    daemon.write(daemon.world.named('web-claude'), 'one more line\n');
    await all(pages, (page) => page.locator('.log').getByText('one more line').waitFor());
    const [first] = pages;
    await first?.close();
    await soon(() => daemon.logStreamCount).toBe(3);
  });
});
