import { describe, expect, test } from 'vitest';
import { focusedText, overflows, pageStage, rowNames } from './stage.ts';
import { emptyWorld, manySessions, tenSessions } from './fake-scenes.ts';

const stage = pageStage();

describe('the overview', () => {
  test('shows the sessions in the groups of the terminal, each with its count', async () => {
    const { page } = await stage.visit(tenSessions());
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Needs you 2',
      'Working 3',
      'Idle 2',
      'Ended 3',
    ]);
    const namesIn = (group: string) =>
      page.getByRole('region', { name: group }).locator('.who a').allTextContents();
    expect(await namesIn('Needs you')).toEqual(['billing-codex', 'checkout-claude']);
    expect(await namesIn('Working')).toEqual(['web-claude', 'api-codex', 'bench-loop']);
    expect(await namesIn('Idle')).toEqual(['docs-gemini', 'infra-opencode']);
    expect(await namesIn('Ended')).toEqual(['mail-claude', 'search-claude', 'old-claude']);
  });

  test('a row tells status, since when and why, harness, place, memory and owner', async () => {
    const { page } = await stage.visit(tenSessions());
    const row = page.locator('[data-session="checkout-claude"]');
    await row.waitFor();
    expect(await row.locator('.mark').innerText()).toBe('▲');
    expect(await row.locator('.word').innerText()).toBe('needs-input');
    expect(await row.locator('.why').innerText()).toBe('permission to use Bash: npm publish --dry-run');
    expect(await row.locator('time').innerText()).toMatch(/^4\ds$/);
    expect(await row.locator('.who .dim').innerText()).toBe('claude · tmux');
    expect(await row.locator('.path').getAttribute('title')).toBe('/home/alice/src/checkout-claude');
    expect(await row.locator('.branch').getAttribute('title')).toBe('branch feature/checkout-v2');
    expect(await row.locator('.memory').innerText()).toContain('217 MB');
    // Several hosts are seen, so each is named.
    expect(await row.locator('.owner').innerText()).toMatch(/alice\s+pid 4011 · laptop/);
  });

  test('a long directory loses its middle', async () => {
    const { page } = await stage.visit(tenSessions());
    const path = page.locator('[data-session="web-claude"] .path');
    expect(await path.innerText()).toContain('/home/…/northwind/platform/apps/web');
  });

  test('the search looks at name, directory, branch, harness, command and status', async () => {
    const { page } = await stage.visit(tenSessions());
    const search = page.getByRole('searchbox');
    const finds = async (query: string, names: readonly string[]) => {
      await search.fill(query);
      await expect.poll(() => rowNames(page), { message: query }).toEqual(names);
    };
    await finds('checkout-cl', ['checkout-claude']);
    await finds('northwind', ['web-claude']);
    await finds('release/2026', ['infra-opencode']);
    await finds('opencode', ['infra-opencode']);
    await finds('fix the login', ['web-claude']);
    await finds('superseded', ['old-claude']);
    await finds('CODEX working', ['api-codex']);
    await finds('no such thing', []);
    await page.getByRole('button', { name: 'Show all 10' }).click();
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });

  test('a chip shows one harness, and lets go of it again', async () => {
    const { page } = await stage.visit(tenSessions());
    const chip = page.getByRole('button', { name: 'codex 2' });
    await chip.click();
    await expect.poll(() => rowNames(page)).toEqual(['billing-codex', 'api-codex']);
    expect(await chip.getAttribute('aria-pressed')).toBe('true');
    await chip.click();
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });

  test('what was not asked for is shown on demand', async () => {
    const world = tenSessions();
    world.earlier = 12;
    const { page, daemon } = await stage.visit(world);
    const error = { code: 'store_unavailable', message: 'The store is busy.', details: {} };
    await page.locator('.live-mark.is-live').waitFor();
    daemon.failures.set('/sessions', { status: 503, error });
    await page.getByRole('button', { name: 'Show 12 earlier sessions' }).click();
    await page.getByText('The store is busy.').waitFor();
    expect(await rowNames(page)).toHaveLength(10);
    daemon.failures.clear();
    await page.getByRole('button', { name: 'Show 12 earlier sessions' }).click();
    await expect.poll(() => daemon.asked.some(({ path }) => path === '/v1/sessions?range=all')).toBe(true);
    await page.getByRole('button', { name: /earlier/ }).waitFor({ state: 'detached' });
  });
});

describe('the keys', () => {
  test('j and k move, Enter opens, Escape comes back to where one was', async () => {
    const { page } = await stage.visit(tenSessions());
    await page.locator('.row').first().waitFor();
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    await expect.poll(() => focusedText(page)).toBe('checkout-claude');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'checkout-claude' }).waitFor();
    await expect.poll(() => focusedText(page)).toBe('checkout-claude');
    expect(new URL(page.url()).pathname).toMatch(/^\/s\//);
    await page.keyboard.press('Escape');
    await page.locator('.row').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
    await expect.poll(() => page.locator('.row.selected a:focus').innerText()).toBe('checkout-claude');
    await page.keyboard.press('j');
    await expect.poll(() => focusedText(page)).toBe('web-claude');
  });

  test('slash searches; Escape leaves the search, and then lets go of it', async () => {
    const { page } = await stage.visit(tenSessions());
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('/');
    await page.locator('input:focus').waitFor();
    await page.keyboard.type('jk?');
    expect(await page.getByRole('searchbox').inputValue()).toBe('jk?');
    await page.getByRole('searchbox').fill('codex');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('input:focus').count()).toBe(0);
    expect(await rowNames(page)).toEqual(['billing-codex', 'api-codex']);
    await page.keyboard.press('Escape');
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });

  test('the question mark opens the help, Escape closes it and gives the focus back', async () => {
    const { page } = await stage.visit(tenSessions());
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('j');
    await expect.poll(() => focusedText(page)).toBe('billing-codex');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys and marks' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => focusedText(page)).toBe('billing-codex');
  });
});

describe('hundreds of sessions', () => {
  test('only those near the screen are in the document, and every one is within reach of the keys', async () => {
    const { page } = await stage.visit(manySessions(500));
    const ended = page.getByRole('region', { name: 'Ended 350' });
    await ended.waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(300);
    const first = page.locator('.row').first();
    expect(await first.getAttribute('aria-setsize')).toBe('50');
    expect(await first.getAttribute('aria-posinset')).toBe('1');
    // From the top, the one before the first is the last of all: far outside of what is there.
    await page.keyboard.press('k');
    const last = ended.locator('.row[aria-posinset="350"]');
    await last.waitFor();
    await expect.poll(() => last.locator('a').evaluate((link) => link.matches(':focus'))).toBe(true);
    await page.keyboard.press('k');
    await expect.poll(() => ended.locator('.row[aria-posinset="349"] a:focus').count()).toBe(1);
    await page.keyboard.press('Tab');
    await expect.poll(() => ended.locator('.row[aria-posinset="350"] a:focus').count()).toBe(1);
  });

  test('a row that has the focus keeps it when it is scrolled out of sight', async () => {
    const { page } = await stage.visit(manySessions(500));
    await page.getByRole('region', { name: 'Ended 350' }).waitFor();
    await page.keyboard.press('k');
    await page.locator('.row[aria-posinset="350"] a:focus').waitFor();
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('region', { name: 'Needs you' }).locator('.row').first().waitFor();
    expect(await page.locator('.row[aria-posinset="350"] a:focus').count()).toBe(1);
  });

  test('at 400 px wide nothing reaches beyond the window', async () => {
    const { page } = await stage.visit(manySessions(500), { width: 400 });
    await page.locator('.row').first().waitFor();
    expect(await overflows(page)).toBe(false);
    expect((await page.locator('.row').first().boundingBox())?.height).toBe(82);
  });
});

describe('nothing to show', () => {
  test('no sessions: how to start one', async () => {
    const { page, daemon } = await stage.visit(emptyWorld());
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor();
    expect(await page.locator('pre').innerText()).toBe('reeve run --tmux -- claude');
    const session = daemon.world.add({ name: 'first-claude', status: 'working' });
    daemon.push(session, 'run.executing', 'The command is executing.');
    await expect.poll(() => rowNames(page)).toEqual(['first-claude']);
  });

  test('an error is told with its hint, and can be tried again', async () => {
    const { page, daemon } = await stage.visit(tenSessions(), {
      prepare: ({ failures }) =>
        failures.set('/sessions', {
          status: 500,
          error: {
            code: 'store_damaged',
            message: 'The store cannot be read.',
            hint: '`reeve doctor`',
            details: {},
          },
        }),
    });
    await page.getByText('The store cannot be read.').waitFor();
    await page.locator('code', { hasText: 'reeve doctor' }).waitFor();
    daemon.failures.clear();
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });

  test('a browser that is not authorised is told how to become so', async () => {
    const { page, daemon } = await stage.visit(tenSessions(), {
      prepare: (fresh) => {
        fresh.isAuthorised = false;
      },
    });
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    expect(await page.locator('main code').innerText()).toBe('reeve open');
    daemon.isAuthorised = true;
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => rowNames(page)).toHaveLength(10);
    await page.locator('.live-mark.is-live').waitFor();
  });

  test('while it loads, it says so', async () => {
    let release = () => {};
    const { page } = await stage.visit(tenSessions(), {
      prepare: (daemon) => {
        release = daemon.hold('/sessions');
      },
    });
    await page.getByText('Loading the sessions').waitFor();
    release();
    await expect.poll(() => rowNames(page)).toHaveLength(10);
  });
});
