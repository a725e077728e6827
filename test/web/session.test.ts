import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { focusedText, overflows, pageStage } from './stage.ts';
import { fortyRuns, tenSessions } from './fake-scenes.ts';
import { end } from './fake-verbs.ts';
import { DAY_MS } from './fake-world.ts';
import type { FakeWorld } from './fake-world.ts';

const stage = pageStage();

const pathOf = (world: FakeWorld, name: string) => `/s/${world.named(name).detail.id}`;

async function widths(page: Page): Promise<number[]> {
  return page
    .locator('.segment')
    .evaluateAll((segments) => segments.map((segment) => Math.round(segment.getBoundingClientRect().width)));
}

describe('the ownership strip', () => {
  test('one run fills it', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'mail-claude') });
    await page.locator('.segment').waitFor();
    expect(await page.locator('.segment').count()).toBe(1);
    expect(await page.locator('.segment').getAttribute('aria-label')).toMatch(
      /^1 alice: .*, 1h 8m; completed: the command returned 0 \(exit 0\)$/,
    );
    expect((await widths(page))[0]).toBeGreaterThan(1000);
  });

  test('three runs: a pause, a take-over, and the owner now', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    await page.locator('.segment').first().waitFor();
    expect(await page.locator('.segment .end-mark').allInnerTexts()).toEqual(['✓', '↷', '●']);
    expect(await page.locator('.pause').count()).toBe(1);
    expect(await page.locator('.handover').count()).toBe(1);
    expect(await page.locator('.segment.owner b').innerText()).toBe('3');
    const [first = 0, second = 0, third = 0] = await widths(page);
    // 1.4, 1.8 and 1.2 hours.
    expect(first / third).toBeCloseTo(1.4 / 1.2, 1);
    expect(second / third).toBeCloseTo(1.8 / 1.2, 1);
  });

  test('pointing at a run, or going to it by arrows, tells how it ended', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    const told = page.locator('p.told');
    await told.getByText('the owner now').waitFor();
    await page.locator('.segment').nth(1).hover();
    await told.getByText('superseded: bob asked to take the session over (SIGTERM)').waitFor();
    await page.mouse.move(0, 0);
    await told.getByText('the owner now').waitFor();
    await page.locator('.segment.owner').focus();
    await page.keyboard.press('ArrowLeft');
    await told.getByText('superseded: bob asked to take the session over (SIGTERM)').waitFor();
    await page.keyboard.press('Home');
    await told.getByText('completed: the command returned 0 (exit 0)').waitFor();
    expect(await page.locator('.segment:focus b').innerText()).toBe('1');
  });

  test('the same is told as a list', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    await page.getByText('As a list').click();
    const items = await page.locator('.run-list li').allInnerTexts();
    expect(items.map((item) => item.replace(/: \d.*;/, ':'))).toEqual([
      '✓ Run 1 by alice: completed: the command returned 0 (exit 0)',
      '↷ Run 2 by alice: superseded: bob asked to take the session over (SIGTERM)',
      '● Run 3 by bob: the owner now',
    ]);
  });

  test.each([1280, 400])(
    'forty runs at %d px: each with its number and mark, none cut off',
    async (width) => {
      const world = tenSessions();
      world.add({ name: 'forty', status: 'working', runs: fortyRuns(world.nowMs) });
      const { page } = await stage.visit(world, { path: pathOf(world, 'forty'), width });
      await page.locator('.segment').first().waitFor();
      expect(await page.locator('.segment b').allInnerTexts()).toEqual(
        Array.from({ length: 40 }, (_, index) => String(index + 1)),
      );
      const areCut = page
        .locator('.segment')
        .evaluateAll((segments) => segments.some((segment) => segment.scrollWidth > segment.clientWidth));
      expect(await areCut).toBe(false);
      expect(await overflows(page)).toBe(false);
      expect(Math.min(...(await widths(page)))).toBeGreaterThanOrEqual(46);
    },
  );

  test('a second beside three days is still there to be pointed at', async () => {
    const world = tenSessions();
    const startMs = world.nowMs - 4 * DAY_MS;
    world.add({
      name: 'uneven',
      status: 'done',
      runs: [
        { actor: 'alice', startMs, endMs: startMs + 1000, outcome: 'failed' },
        { actor: 'alice', startMs: startMs + 2000, endMs: startMs + 3 * DAY_MS, outcome: 'completed' },
      ],
    });
    const { page } = await stage.visit(world, { path: pathOf(world, 'uneven') });
    await page.locator('.segment').first().waitFor();
    const [second = 0, days = 0] = await widths(page);
    expect(second).toBe(46);
    expect(days).toBeGreaterThan(1000);
  });
});

describe('the rest of the page', () => {
  test('tells why, a chapter a run, the latest open', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    const why = page.getByRole('region', { name: 'Why' });
    await why.getByText('Run 3, the owner').waitFor();
    expect(await why.locator('summary').allInnerTexts()).toEqual([
      'Run 3, the owner',
      'Run 2, superseded',
      'Run 1, completed',
    ]);
    await why.getByText('The command is executing as pid 4033.').waitFor();
    await why.getByText('Run 1, completed').click();
    await why.getByText(/ended as completed: the command returned 0/).waitFor();
  });

  test('says what could not be proven', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'billing-codex') });
    await page
      .locator('.heading')
      .getByText('Nothing could be proven about it: its host devbox-2 has not been heard of.')
      .waitFor();
    await page.getByText('Not proven: its host devbox-2 has not been heard of.').waitFor();
  });

  test('lists the processes that end with it', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    const table = page.getByRole('region', { name: 'Processes' });
    await table.getByRole('row').nth(4).waitFor();
    expect(await table.locator('tbody tr').allInnerTexts()).toEqual([
      '4030\treeve-keeper\t5 MB',
      '4031\tclaude\t310 MB',
      '4032\tnode vite --port 5173\t142 MB',
      '4033\tesbuild\t–',
    ]);
  });

  test('lists what its runs started, each with how it stands, as a way there', async () => {
    const world = tenSessions();
    world.add({
      name: 'parent-claude',
      status: 'working',
      children: (parent) =>
        [
          { session: 'review-of-parent', run: { ...parent, id: 'r-a' } },
          { session: 'old-review', run: { ...parent, id: 'r-b', outcome: 'cancelled' as const } },
        ].map((child) => ({
          ...child,
          sessionId: 's-0001fakesession',
          parent: parent.id,
          owner: parent.id,
          onParentEnd: 'cancel' as const,
          subject: null,
          revision: null,
          waitsUntil: null,
          tokens: null,
          argv: ['claude', '-p'],
        })),
    });
    const { page } = await stage.visit(world, { path: pathOf(world, 'parent-claude') });
    const children = page.getByRole('region', { name: 'Children' });
    await children.getByRole('listitem').nth(1).waitFor();
    const texts = await children.getByRole('listitem').allInnerTexts();
    expect(texts.map((text) => text.split(/\s+/).slice(0, 3))).toEqual([
      ['●', 'review-of-parent', 'working'],
      ['⊘', 'old-review', 'cancelled'],
    ]);
    await children.getByRole('link', { name: 'review-of-parent' }).click();
    await page.getByRole('heading', { level: 1, name: 'checkout-claude' }).waitFor();
  });

  test('shows events, the latest first, earlier ones on demand, new ones by themselves', async () => {
    const world = tenSessions();
    world.add({ name: 'forty', status: 'working', runs: fortyRuns(world.nowMs) });
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'forty') });
    const events = page.locator('.events li');
    await expect.poll(() => events.count()).toBe(20);
    expect(await events.first().locator('.kind').innerText()).toBe('run.executing');
    await page.getByRole('button', { name: 'Load earlier' }).click();
    await expect.poll(() => events.count()).toBe(120);
    await page.getByRole('button', { name: 'Load earlier' }).click();
    await expect.poll(() => events.count()).toBe(159);
    await page.getByRole('button', { name: 'Load earlier' }).waitFor({ state: 'detached' });
    await page.locator('.live-mark.is-live').waitFor();
    end(daemon, daemon.world.named('forty'), 'stopped', 'alice stopped it');
    await expect.poll(() => events.first().locator('.kind').innerText()).toBe('run.ended');
    expect(await events.count()).toBe(160);
    await page.locator('.heading').getByText('Alice stopped it.').waitFor();
    expect(await page.locator('.segment').last().locator('.end-mark').innerText()).toBe('■');
  });

  test('follows the log, without its escape sequences, and stays put for one who reads above', async () => {
    const world = tenSessions();
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    const log = page.locator('.log');
    await log.getByText('12 passed').waitFor();
    expect(await log.innerText()).toBe('reading test/login.test.ts\n✓ 12 passed\nprogress 100%\n');
    const session = daemon.world.named('web-claude');
    daemon.write(session, Array.from({ length: 200 }, (_, line) => `line ${line}\n`).join(''));
    const isAtEnd = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2);
    await log.getByText('line 199').waitFor();
    await expect.poll(isAtEnd).toBe(true);
    await log.evaluate((box) => box.scrollTo(0, 0));
    await expect.poll(() => log.evaluate((box) => box.scrollTop)).toBe(0);
    daemon.write(session, 'the last line\n');
    await page.getByRole('button', { name: 'Newer below' }).click();
    await expect.poll(isAtEnd).toBe(true);
    await page.getByRole('button', { name: 'Newer below' }).waitFor({ state: 'detached' });
  });

  test('an interrupted log goes on with the connection, with nothing twice', async () => {
    const world = tenSessions();
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    await page.locator('.log').getByText('12 passed').waitFor();
    await page.locator('.live-mark.is-live').waitFor();
    await daemon.goAway();
    await page.locator('.live-mark.is-lost').waitFor();
    daemon.world.named('web-claude').log += 'written meanwhile\n';
    await daemon.listen();
    await page.locator('.log').getByText('written meanwhile').waitFor();
    expect((await page.locator('.log').innerText()).match(/12 passed/g)).toHaveLength(1);
  });

  test('shows the screen of a session in tmux with its colours', async () => {
    const world = tenSessions();
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'checkout-claude') });
    const screen = page.getByRole('region', { name: 'The screen of its terminal' });
    await screen.getByText('11 passed').waitFor();
    const look = (text: string, property: string) =>
      screen
        .getByText(text)
        .evaluate(
          (span, name) => span.ownerDocument.defaultView?.getComputedStyle(span).getPropertyValue(name),
          property,
        );
    expect(await look('1 failed', 'color')).toBe('rgb(255, 123, 114)');
    expect(await look('Test Files', 'color')).toBe('rgb(148, 148, 148)');
    expect(await look('Do you want', 'background-color')).toBe('rgb(214, 220, 228)');
    expect(await look('Welcome back', 'font-weight')).toBe('700');
    expect(await screen.locator('div').count()).toBe(24);
    daemon.world.named('checkout-claude').screen = '\u001B[32mpublished\u001B[39m';
    await screen.getByText('published').waitFor();
  });

  test('what reads a terminal is loaded for a session in tmux only', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: pathOf(world, 'web-claude') });
    const loaded = () =>
      page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
    await page.locator('.log').getByText('12 passed').waitFor();
    expect((await loaded()).filter((name) => name.includes('/terminal-'))).toEqual([]);
    await page.goto(new URL(pathOf(world, 'checkout-claude'), page.url()).href);
    await page.locator('.screen').getByText('11 passed').waitFor();
    expect((await loaded()).filter((name) => name.includes('/terminal-'))).toHaveLength(1);
  });

  test('opened by its name, it is kept current all the same', async () => {
    const { page, daemon } = await stage.visit(tenSessions(), { path: '/s/web-claude' });
    await page.locator('.segment').first().waitFor();
    await page.locator('.live-mark.is-live').waitFor();
    end(daemon, daemon.world.named('web-claude'), 'failed', 'the command returned 2');
    await page.locator('.heading').getByText('The command returned 2.').waitFor();
  });

  test('a run without a log says where its output goes', async () => {
    const world = tenSessions();
    world.add({ name: 'fore', status: 'working', mode: 'foreground' });
    const { page } = await stage.visit(world, { path: pathOf(world, 'fore') });
    await page.getByText('It writes to the terminal it was started in').waitFor();
  });

  test('opened from the overview, its heading has the focus', async () => {
    const { page } = await stage.visit(tenSessions());
    await page.getByRole('link', { name: 'web-claude' }).click();
    await page.getByRole('heading', { level: 1, name: 'web-claude' }).waitFor();
    await expect.poll(() => focusedText(page)).toBe('web-claude');
    expect(await page.title()).toBe('web-claude: working · Reeve');
    await page.goBack();
    await page.getByRole('region', { name: 'Working 3' }).waitFor();
  });

  test('a session that is not there is told apart from an error', async () => {
    const world = tenSessions();
    const { page } = await stage.visit(world, { path: '/s/nobody' });
    await page.getByRole('heading', { name: 'No such session' }).waitFor();
    await page.locator('main').getByRole('link', { name: 'All sessions' }).click();
    await page.getByRole('region', { name: 'Working 3' }).waitFor();
  });

  test('forgotten while somebody looks, it is gone', async () => {
    const world = tenSessions();
    const { page, daemon } = await stage.visit(world, { path: pathOf(world, 'mail-claude') });
    await page.locator('.segment').waitFor();
    await page.locator('.live-mark.is-live').waitFor();
    daemon.forget(daemon.world.named('mail-claude'));
    await page.getByRole('heading', { name: 'No such session' }).waitFor();
  });
});
