import { describe, expect, test } from 'vitest';
import { pageStage } from './stage.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import { familyWorld, reviewOf, reviewWorld } from './fake-families.ts';
import { tenSessions } from './fake-scenes.ts';

const stage = pageStage();

describe('the review board', () => {
  test('shows by worker and pull request what is so now, what wants a person first', async () => {
    const { page } = await stage.visit(reviewWorld(), { path: '/reviews' });
    await page.getByRole('region', { name: 'web-claude 3 pull requests' }).waitFor();
    expect(await page.title()).toBe('Reviews · Reeve');
    const rows = await page.locator('.review').allInnerTexts();
    // Without what is for screen readers only.
    const wordsOf = (text: string) => text.split(/(?:head|reviewed by)?\s*\n/).filter(Boolean);
    expect(rows.map(wordsOf)).toEqual([
      ['▲', 'lead/7', '5a9c3e5f75', 'changes-requested 45m', '1.69M tokens', 'review-lead-claude'],
      [
        '✗',
        'lead/8',
        '6a9c3e5f76',
        'failed 44m',
        'the reviewer ended without submitting: it exited with code 3',
        'review-lead-claude',
      ],
      ['■', 'lead/9', '7a9c3e5f77', 'cancelled 43m', 'alice gave it up', 'review-lead-claude'],
      ['●', 'web/12', 'bbbbbbbbbb', 'running 57m', '52k tokens', 'review-web-claude'],
      ['○', 'web/15', '4a9c3e5f74', 'needs-review 56m', 'nobody yet'],
      ['✓', 'web/14', '3a9c3e5f73', 'up-to-date 47m', 'approved', '120k tokens', 'review-web-claude'],
    ]);
    const head = page.locator('[data-review="v-2"] .head .mono');
    expect(await head.getAttribute('title')).toBe('b'.repeat(40));
    expect(await page.getByRole('link', { name: 'review-web-claude' }).first().getAttribute('href')).toBe(
      '/s/review-web-claude',
    );
  });

  test('shows what was superseded on demand, calmly, below what took its place', async () => {
    const { page, daemon } = await stage.visit(reviewWorld(), { path: '/reviews' });
    await page.locator('.review').first().waitFor();
    expect(await page.locator('[data-review="v-1"]').count()).toBe(0);
    await page.getByRole('button', { name: 'all' }).click();
    const old = page.locator('[data-review="v-2"] + [data-review="v-1"]');
    await old.getByText('bbbbbbbbbb took its place').waitFor();
    const [word, gray] = await page.evaluate<[string, string]>(`[
      getComputedStyle(document.querySelector('[data-review="v-1"] .word')).color,
      getComputedStyle(document.querySelector('[data-review="v-1"] .why')).color]`);
    expect(word).toBe(gray);
    expect(await page.getByRole('button', { name: 'all' }).getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'current' }).click();
    await old.waitFor({ state: 'detached' });
    await expect
      .poll(() => reviewsAsked(daemon))
      .toEqual(['/v1/reviews', '/v1/reviews?all=true', '/v1/reviews']);
  });

  test('changes by itself, with one question for a burst of events', async () => {
    const { page, daemon } = await stage.visit(reviewWorld(), { path: '/reviews' });
    await page.locator('.live-mark.is-live').waitFor();
    await page.locator('[data-review="v-4"]').waitFor();
    const worker = daemon.world.named('web-claude');
    const before = reviewsAsked(daemon).length;
    daemon.world.reviews = (daemon.world.reviews ?? []).map((review) =>
      review.id === 'v-4' ? { ...review, status: 'running' as const } : review,
    );
    for (let count = 0; count < 10; count += 1) daemon.push(worker, 'review.started', 'It is reviewed.');
    await page.locator('[data-review="v-4"]').getByText('running').waitFor();
    expect(reviewsAsked(daemon)).toHaveLength(before + 1);
    daemon.push(worker, 'harness.work.continued', 'It went on.');
    await expect.poll(() => daemon.asked.at(-1)?.path).toContain('/v1/sessions?ids=');
    expect(reviewsAsked(daemon)).toHaveLength(before + 1);
  });

  test('says how to begin where there is nothing to review', async () => {
    const world = tenSessions();
    world.reviews = [];
    const { page, daemon } = await stage.visit(world, { path: '/reviews' });
    await page.getByText('reeve review trigger --worker SESSION --pr KEY=HEADSHA').waitFor();
    const worker = daemon.world.named('web-claude');
    await page.locator('.live-mark.is-live').waitFor();
    world.reviews = [reviewOf(worker, world.nowMs, { id: 'v-1', pr: 'web/1', status: 'running' })];
    daemon.push(worker, 'review.created', 'alice asked for a review.');
    await page.locator('[data-review="v-1"]').waitFor();
  });

  test('that cannot be loaded says so, and is tried again', async () => {
    const error = { code: 'failed', message: 'The store is locked.', details: {} };
    const { page, daemon } = await stage.visit(reviewWorld(), {
      path: '/reviews',
      prepare: (fake) => fake.failures.set('/v1/reviews', { status: 500, error }),
    });
    await page.getByText('The store is locked.').waitFor();
    daemon.failures.clear();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.review').first().waitFor();
    daemon.failures.set('/v1/reviews', { status: 500, error });
    daemon.push(daemon.world.named('web-claude'), 'review.started', 'It is reviewed.');
    await page.getByText('The store is locked.').waitFor();
    // What was known stays.
    expect(await page.locator('.review').count()).toBe(6);
  });
});

describe('the way to the review board', () => {
  test('is in the head of the page when there are reviews, with how many want somebody', async () => {
    const { page } = await stage.visit(reviewWorld());
    const link = page.getByRole('link', { name: /^Reviews 6 ?, 2 want you$/ });
    await link.click();
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Reviews');
    expect(await link.getAttribute('aria-current')).toBe('page');
    await page.goBack();
    await page.locator('.row').first().waitFor();
  });

  test('is v, and v and Escape lead back', async () => {
    const { page } = await stage.visit(reviewWorld());
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('v');
    await page.locator('.review').first().waitFor();
    await page.keyboard.press('v');
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('v');
    await page.locator('.review').first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.row').first().waitFor();
  });

  test('is not shown by a daemon without reviews, or that knows none', async () => {
    for (const reviews of [[], null]) {
      const world = familyWorld();
      world.reviews = reviews;
      const { page, daemon } = await stage.visit(world);
      await page.locator('.row').first().waitFor();
      await expect.poll(() => reviewsAsked(daemon)).toEqual(['/v1/reviews']);
      expect(await page.locator('.pages').count()).toBe(0);
    }
  });
});

function reviewsAsked(daemon: FakeDaemon): string[] {
  return daemon.asked.map(({ path }) => path).filter((path) => path.startsWith('/v1/reviews'));
}
