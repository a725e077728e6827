import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { overflows, pageStage } from './stage.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import { familyWorld, reviewWorld } from './fake-families.ts';
import { emptyWorld, fortyRuns, manySessions, tenSessions } from './fake-scenes.ts';
import type { FakeWorld } from './fake-world.ts';

const stage = pageStage();

interface Scene {
  readonly title: string;
  readonly world?: () => FakeWorld;
  readonly path?: (world: FakeWorld) => string;
  readonly prepare?: (daemon: FakeDaemon) => void;
  /** Brings it about, and waits until it is there. */
  readonly reach: (page: Page, daemon: FakeDaemon) => Promise<unknown>;
}

const pathOf = (name: string) => (world: FakeWorld) => `/s/${world.named(name).detail.id}`;

const openDialog = (name: string, ready: string) => async (page: Page) => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').getByText(ready).first().waitFor();
};

const SCENES: readonly Scene[] = [
  { title: 'the overview', reach: (page) => page.locator('.row').first().waitFor() },
  {
    title: 'hundreds of sessions',
    world: () => manySessions(500),
    reach: async (page) => {
      await page.locator('.row').first().waitFor();
      await page.keyboard.press('k');
      await page.locator('.row[aria-posinset="350"] a:focus').waitFor();
    },
  },
  {
    title: 'a session with a log',
    path: pathOf('web-claude'),
    reach: (page) => page.locator('.log').getByText('12 passed').waitFor(),
  },
  {
    title: 'a session with a screen',
    path: pathOf('checkout-claude'),
    reach: (page) => page.locator('.screen').getByText('11 passed').waitFor(),
  },
  {
    title: 'a session of forty runs',
    world: () => {
      const world = tenSessions();
      world.add({ name: 'forty', status: 'working', runs: fortyRuns(world.nowMs) });
      return world;
    },
    path: pathOf('forty'),
    reach: async (page) => {
      await page.getByText('As a list').click();
      await page.locator('.story li').first().waitFor();
    },
  },
  {
    title: 'an overview of children and budgets',
    world: familyWorld,
    reach: (page) => page.locator('.row .below-2').waitFor(),
  },
  {
    title: 'a session with children and budgets',
    world: familyWorld,
    path: pathOf('lead-claude'),
    reach: (page) => page.getByRole('region', { name: 'Children' }).getByText('lint-pr-7').waitFor(),
  },
  {
    title: 'a child',
    world: familyWorld,
    path: pathOf('review-pr-7'),
    reach: (page) => page.getByText('A child of').waitFor(),
  },
  {
    title: 'the review board',
    world: reviewWorld,
    path: () => '/reviews',
    reach: async (page) => {
      await page.getByRole('button', { name: 'all' }).click();
      await page.locator('.review.older').waitFor();
    },
  },
  {
    title: 'a review board without reviews',
    path: () => '/reviews',
    reach: (page) => page.getByText('No reviews yet').waitFor(),
  },
  { title: 'the dialog that stops', path: pathOf('web-claude'), reach: openDialog('Stop…', 'esbuild') },
  { title: 'the dialog that resumes', path: pathOf('mail-claude'), reach: openDialog('Resume…', 'Last run') },
  { title: 'the dialog that sends', path: pathOf('docs-gemini'), reach: openDialog('Send…', 'Message') },
  { title: 'the dialog that attaches', path: pathOf('docs-gemini'), reach: openDialog('Attach', 'Copied') },
  {
    title: 'a failed stop',
    path: pathOf('web-claude'),
    reach: async (page, daemon) => {
      const error = { code: 'survivors', message: 'It was not stopped.', hint: '`reeve show`', details: {} };
      daemon.failures.set('/stop', { status: 503, error });
      await openDialog('Stop…', 'esbuild')(page);
      await page.getByRole('button', { name: 'Stop it' }).click();
      await page.getByText('It was not stopped.').waitFor();
    },
  },
  {
    title: 'the help',
    reach: async (page) => {
      await page.locator('.row').first().waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    title: 'not connected',
    reach: async (page, daemon) => {
      await page.locator('.live-mark.is-live').waitFor();
      await daemon.goAway();
      await page.getByText('What is shown is as of then').waitFor();
    },
  },
  { title: 'no sessions', world: emptyWorld, reach: (page) => page.getByText('No sessions yet').waitFor() },
  {
    title: 'no such session',
    path: () => '/s/nobody',
    reach: (page) => page.getByText('No such session').waitFor(),
  },
  {
    title: 'not signed in',
    prepare: (daemon) => {
      daemon.isAuthorised = false;
    },
    reach: (page) => page.getByRole('heading', { name: 'Not signed in' }).waitFor(),
  },
];

test.each(SCENES)('$title keeps nobody out, in light and dark, and fits at 400 px', async (scene) => {
  const world = (scene.world ?? tenSessions)();
  const { page, daemon } = await stage.visit(world, {
    path: scene.path?.(world) ?? '/',
    ...(scene.prepare === undefined ? {} : { prepare: scene.prepare }),
  });
  await scene.reach(page, daemon);
  expect(await violations(page), 'light').toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violations(page), 'dark').toEqual([]);
  await page.setViewportSize({ width: 400, height: 800 });
  expect(await overflows(page)).toBe(false);
  expect(await violations(page), 'narrow').toEqual([]);
});

test('a chosen theme stays, whatever the system says', async () => {
  const { page } = await stage.visit(tenSessions(), { scheme: 'light' });
  await page.locator('.row').first().waitFor();
  const background = () =>
    page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  const light = await background();
  await page.getByRole('button', { name: 'Theme: system. Change it.' }).click();
  await page.getByRole('button', { name: 'Theme: light. Change it.' }).click();
  await page.getByRole('button', { name: 'Theme: dark. Change it.' }).waitFor();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  await page.locator('.row').first().waitFor();
  expect(await background()).toBe(dark);
  await page.getByRole('button', { name: 'Theme: dark. Change it.' }).click();
  await expect.poll(background).toBe(light);
});

/** Rule and element of each. The screen of a terminal has the colours that its program chose. */
async function violations(page: Page): Promise<unknown> {
  // By the debugger's way, for the page's own policy lets no foreign script in.
  await page.evaluate(axe.source);
  return page.evaluate(`axe
    .run({ exclude: [['.screen']] }, { resultTypes: ['violations'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary])))`);
}
