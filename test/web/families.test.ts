import { describe, expect, test } from 'vitest';
import { pageStage } from './stage.ts';
import { BUDGETS, familyWorld } from './fake-families.ts';
import { tenSessions } from './fake-scenes.ts';
import { end } from './fake-verbs.ts';
import type { FakeWorld } from './fake-world.ts';

const stage = pageStage();
const pathOf = (world: FakeWorld, name: string) => `/s/${world.named(name).detail.id}`;
const LEVELS = `[...document.querySelectorAll('.group-working .row')].map(
  (row) => [row.dataset.session, row.getAttribute('aria-level')])`;

describe('children in the overview', () => {
  test('stand below what they belong to while both live; what needs somebody, where one looks for it', async () => {
    const { page, daemon } = await stage.visit(familyWorld());
    await page.locator('.live-mark.is-live').waitFor();
    expect(await page.evaluate(LEVELS)).toEqual([
      ['web-claude', '1'],
      ['api-codex', '1'],
      ['bench-loop', '1'],
      ['lead-claude', '1'],
      ['review-pr-7', '2'],
      ['lint-pr-7', '3'],
    ]);
    const asking = page.locator('.group-needs-you [data-session="docs-child"]');
    expect(await asking.locator('.child-of').innerText()).toContain('child of lead-claude');
    end(daemon, daemon.world.named('lead-claude'), 'stopped', 'alice stopped it');
    await page.getByRole('region', { name: 'Ended 5' }).waitFor();
    // Of those that were below it, each stands by itself again, in its own group.
    expect(await page.evaluate(LEVELS)).toEqual([
      ['web-claude', '1'],
      ['api-codex', '1'],
      ['bench-loop', '1'],
    ]);
    expect(await page.locator('.group-idle .row').last().getAttribute('aria-level')).toBe('2');
    expect(await asking.locator('.child-of').count()).toBe(0);
  });

  test('are gone through by keys in the order in which they stand, and found without their parents', async () => {
    const { page } = await stage.visit(familyWorld());
    await page.getByRole('link', { name: 'lead-claude' }).focus();
    await page.keyboard.press('j');
    await expect.poll(() => page.locator(':focus').innerText()).toBe('review-pr-7');
    await page.keyboard.press('j');
    await expect.poll(() => page.locator(':focus').innerText()).toBe('lint-pr-7');
    await page.getByLabel('Search sessions').fill('lint-pr');
    await page.getByText('1 of 15 sessions').waitFor({ state: 'attached' });
    expect(await page.locator('.row').getAttribute('aria-level')).toBe('1');
  });
});

describe('budgets', () => {
  test('are a bar in the overview: the tightest, with a sign when it matters, all of them in its title', async () => {
    const { page } = await stage.visit(familyWorld());
    const bars = page.locator('.row .budget');
    await bars.nth(2).waitFor();
    expect(await bars.allInnerTexts()).toEqual(['▲ 95%', '✗ 104%', '']);
    expect(await bars.first().getAttribute('title')).toBe(
      '1.69M of 2M tokens, session: 84%\n$9.50 of $10.00, day: 95%\n27 of 60 min, run: 45%',
    );
    const meters = page.getByRole('meter');
    expect(
      await Promise.all([0, 1, 2].map((index) => meters.nth(index).getAttribute('aria-valuetext'))),
    ).toEqual([
      '$9.50 of $10.00, day: 95%, near the limit',
      '2.08M of 2M tokens, tree: 104%, over the limit',
      '420k of 2M tokens, session: 21%, within the limit',
    ]);
    expect(await page.locator('[data-session="web-claude"] .budget').count()).toBe(0);
  });

  test('are all there on the page of a session, with numbers; and grow while somebody looks', async () => {
    const world = familyWorld();
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'lead-claude') });
    await page.locator('.live-mark.is-live').waitFor();
    const rows = page.getByRole('region', { name: 'Budgets' }).getByRole('listitem');
    await rows.nth(2).waitFor();
    expect((await rows.allInnerTexts()).map((text) => text.split('\n').filter(Boolean))).toEqual([
      ['1.69M of 2M tokens, session', '84%, near the limit'],
      ['$9.50 of $10.00, day', '95%, near the limit'],
      ['27 of 60 min, run', '45%'],
    ]);
    const lead = daemon.world.named('lead-claude');
    lead.detail = { ...lead.detail, budgets: [BUDGETS.over] };
    daemon.push(lead, 'budget.exceeded', 'It was over its budget.');
    await rows.getByText('104%, over the limit').waitFor();
    expect(await rows.count()).toBe(1);
  });

  test('are not spoken of where there are none', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    await page.getByText('123,000 by all its runs').waitFor();
    expect(await page.getByRole('region', { name: 'Budgets' }).count()).toBe(0);
  });
});

describe('the children of a session', () => {
  test('are a tree, each with how it stands, what it is about, what it cost, and what becomes of it', async () => {
    const world = familyWorld();
    const { page } = await stage.visit(world, { path: pathOf(world, 'lead-claude') });
    const panel = page.getByRole('region', { name: 'Children' });
    await panel.getByRole('link', { name: 'old-review' }).waitFor();
    expect(await panel.locator('.panel-head').innerText()).toContain('4 runs, 1.25M tokens in all');
    const words = await panel.locator('.child').allInnerTexts();
    expect(words.map((text) => text.split(/\s*\n\s*|(?<=[○●▲⊘]) /).filter(Boolean))).toEqual([
      ['○', 'review-pr-7', 'idle', '2h', 'pr-7@3f2a91c', '240k tokens', 'cancelled with its parent · claude'],
      ['●', 'lint-pr-7', 'working', '2h', 'on its own · npm run lint'],
      [
        '▲',
        'docs-child',
        'needs-input',
        '2h',
        '12.3k tokens',
        'handed on · claude',
        expect.stringMatching(/^waits for a successor of its parent, 7m \d+s longer$/),
      ],
      ['⊘', 'old-review', 'cancelled', '1h', '1M tokens', 'cancelled with its parent · claude'],
    ]);
    expect(await panel.locator('li li').getByRole('link').allInnerTexts()).toEqual(['lint-pr-7']);
  });

  test('name their parent, and lead there', async () => {
    const world = familyWorld();
    const { page } = await stage.visit(world, { path: pathOf(world, 'review-pr-7') });
    const line = page.locator('.parent-line');
    await line.waitFor();
    expect(await line.innerText()).toBe(
      '↳ A child of lead-claude, started in its run 1; cancelled with its parent; about pr-7@3f2a91c.',
    );
    await line.getByRole('link', { name: 'lead-claude' }).click();
    await page.getByRole('heading', { level: 1, name: 'lead-claude' }).waitFor();
    expect(await page.locator('.parent-line').count()).toBe(0);
  });

  test('of a parent that was forgotten say what is left of it', async () => {
    const world = familyWorld();
    const { detail } = world.named('lead-claude');
    world.sessions.delete(detail.id);
    const { page } = await stage.visit(world, { path: pathOf(world, 'review-pr-7') });
    await page.getByText(`A child of run ${detail.run.id}, of which no more is known.`).waitFor();
  });
});
