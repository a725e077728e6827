import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { focusedText, pageStage } from './stage.ts';
import { reviewWorld } from './fake-families.ts';
import { tenSessions } from './fake-scenes.ts';

const stage = pageStage();

/**
 * Presses keys in one task, each as soon as what the one before led to is in the document. No frame is painted between
 * them, so that nothing which a page leaves for after the paint has been done.
 */
function pressWithoutFrame(page: Page, keys: readonly (readonly [key: string, leadsTo: string])[]) {
  return page.evaluate(`(async () => {
    for (const [key, leadsTo] of ${JSON.stringify(keys)}) {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      for (let turn = 0; turn < 1000 && document.querySelector(leadsTo) === null; turn += 1) await null;
      if (document.querySelector(leadsTo) === null) throw new Error(key + ' did not lead to ' + leadsTo);
    }
  })()`);
}

/** With the reviews loaded, so that the board is there at once. */
async function overview(): Promise<Page> {
  const { page } = await stage.visit(reviewWorld());
  await page.locator('.row').first().waitFor();
  await page.getByRole('link', { name: /^Reviews 6/ }).waitFor();
  return page;
}

describe('a key belongs to the page that is shown, however fast it follows', () => {
  test('Escape leaves the review board before a frame was painted', async () => {
    const page = await overview();
    await pressWithoutFrame(page, [
      ['v', '.review'],
      ['Escape', '.row'],
    ]);
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('pressed in the very task that left the overview, Escape leads back', async () => {
    const page = await overview();
    await page.evaluate(`for (const key of ['v', 'Escape'])
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));`);
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('the keys of the rows do nothing once the overview was left', async () => {
    const page = await overview();
    await pressWithoutFrame(page, [
      ['v', '.review'],
      ['j', '.review'],
      ['v', '.row'],
    ]);
    expect(await page.locator('.row.selected').count()).toBe(0);
  });

  test('and are there with the rows', async () => {
    const page = await overview();
    await pressWithoutFrame(page, [
      ['v', '.review'],
      ['v', '.row'],
      ['j', '.row.selected'],
    ]);
    await expect.poll(() => page.locator('.row.selected a:focus').count()).toBe(1);
  });
});

describe('slash from another page', () => {
  test('leads to the search, and nothing takes the focus from it', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: `/s/${world.named('web-claude').detail.id}` });
    await page.locator('.segment').first().waitFor();
    await page.keyboard.press('/');
    await page.locator('input:focus').waitFor();
    // Two frames: whatever was left for after the paint has been done.
    await page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
    );
    await page.keyboard.type('codex');
    expect(await page.getByRole('searchbox').inputValue()).toBe('codex');
  });

  test('waits for an overview that is not there yet', async () => {
    const world = tenSessions();
    let letGo = () => {};
    const { page } = await stage.visit(world, {
      path: `/s/${world.named('web-claude').detail.id}`,
      prepare: (daemon) => {
        letGo = daemon.hold('/sessions');
      },
    });
    await page.locator('.segment').first().waitFor();
    await page.keyboard.press('/');
    await page.locator('.overview.loading').waitFor();
    letGo();
    await page.locator('input:focus').waitFor();
  });

  test('is taken back by another key', async () => {
    const page = await overview();
    await page.getByRole('link', { name: 'web-claude' }).first().click();
    await page.locator('.segment').first().waitFor();
    await page.evaluate(`for (const key of ['/', 'v'])
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));`);
    await page.locator('.review').first().waitFor();
    await page.keyboard.press('v');
    await page.locator('.row').first().waitFor();
    await expect.poll(() => focusedText(page)).toBe('web-claude');
  });
});
