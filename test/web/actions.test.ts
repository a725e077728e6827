import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { pageStage } from './stage.ts';
import type { Visit } from './stage.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import { familyWorld } from './fake-families.ts';
import { tenSessions } from './fake-scenes.ts';
import { end } from './fake-verbs.ts';

const stage = pageStage();

async function open(name: string): Promise<Visit> {
  const world = tenSessions();
  const visit = await stage.visit(world, { path: `/s/${world.named(name).detail.id}` });
  await visit.page.locator('.live-mark.is-live').waitFor();
  return visit;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

const posts = ({ asked }: FakeDaemon) =>
  asked.filter(({ method }) => method === 'POST').map(({ path, body }) => [path, body]);

describe('stopping', () => {
  test('shows first what would end, and nothing is asked for by merely looking', async () => {
    const { page, daemon } = await open('web-claude');
    await button(page, 'Stop…').click();
    const dialog = page.getByRole('dialog', { name: 'Stop web-claude?' });
    await dialog.getByText('esbuild').waitFor();
    const facts = await dialog.locator('dl').innerText();
    expect(facts).toContain('web-claude');
    expect(facts).toContain('3 (r-0003x003fakerun)');
    expect(facts).toContain('bob, detached, pid 4033 on laptop');
    expect(facts).toMatch(/1h 1\dm ago/);
    expect(await dialog.locator('tbody tr').count()).toBe(4);
    // The way out has the focus.
    expect(await page.locator(':focus').innerText()).toBe('Cancel');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.locator(':focus').innerText()).toBe('Stop…');
    expect(posts(daemon)).toEqual([]);
  });

  test('names the child sessions that end with it, and says what becomes of the others', async () => {
    const world = familyWorld();
    const { page, daemon } = await stage.visit(world, {
      path: `/s/${world.named('lead-claude').detail.id}`,
    });
    await page.locator('.live-mark.is-live').waitFor();
    await button(page, 'Stop…').click();
    const fates = page.getByRole('dialog').getByRole('list', { name: 'Child sessions' });
    await expect
      .poll(() => fates.getByRole('listitem').allInnerTexts())
      .toEqual([
        'review-pr-7 ends with it.',
        'docs-child waits for the next run of the session, and ends if none comes in time.',
        'lint-pr-7 goes on by itself.',
      ]);
    // While it is open, it is kept current.
    end(daemon, daemon.world.named('review-pr-7'), 'failed', 'it exited with code 3');
    await expect.poll(() => fates.getByText('review-pr-7').count()).toBe(0);
    await page.keyboard.press('Escape');
    await button(page, 'Retire…').click();
    await fates.getByText('docs-child').waitFor();
  });

  test('stops exactly the run that was shown, with progress, and tells the result', async () => {
    const { page, daemon } = await open('web-claude');
    const release = daemon.hold('/stop');
    await button(page, 'Stop…').click();
    await button(page, 'Stop it').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Ending it, and proving that nothing of it is left').waitFor();
    expect(await button(page, 'Stop it').isDisabled()).toBe(true);
    release();
    await dialog.getByText('web-claude has ended: stopped, alice stopped it.').waitFor();
    expect(posts(daemon)).toEqual([['/v1/sessions/r-0003x003fakerun/stop', { graceSeconds: 10 }]]);
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Close');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.locator('.heading').getByText('stopped', { exact: true }).waitFor();
    await expect.poll(() => button(page, 'Resume…').getAttribute('aria-disabled')).toBe('false');
  });

  test('a failure is told with its hint, and can be tried again', async () => {
    const { page, daemon } = await open('web-claude');
    daemon.failures.set('/stop', {
      status: 503,
      error: {
        code: 'survivors',
        message: 'web-claude was not stopped: node (pid 4033) is alive.',
        hint: 'Look: `reeve show web-claude`',
        details: {},
      },
    });
    await button(page, 'Stop…').click();
    await button(page, 'Stop it').click();
    const alert = page.getByRole('dialog').getByRole('alert');
    await alert.getByText('web-claude was not stopped: node (pid 4033) is alive.').waitFor();
    await alert.getByText('reeve show web-claude').waitFor();
    daemon.failures.clear();
    await button(page, 'Try again').click();
    await page.getByRole('dialog').getByText('has ended: stopped').waitFor();
  });

  test('a daemon that is gone is told as such', async () => {
    const { page, daemon } = await open('web-claude');
    await button(page, 'Stop…').click();
    await page.getByRole('dialog').getByText('esbuild').waitFor();
    await daemon.goAway();
    await button(page, 'Stop it').click();
    await page.getByRole('dialog').getByRole('alert').getByText('The daemon does not answer.').waitFor();
  });

  test('killing at once is one choice further', async () => {
    const { page, daemon } = await open('web-claude');
    await button(page, 'Stop…').click();
    await page.getByRole('radio', { name: 'Kill it at once' }).check();
    await button(page, 'Stop it').click();
    await page.getByRole('dialog').getByText('has ended').waitFor();
    expect(posts(daemon)).toEqual([['/v1/sessions/r-0003x003fakerun/kill', {}]]);
  });
});

test('retiring ends it as superseded', async () => {
  const { page, daemon } = await open('web-claude');
  await button(page, 'Retire…').click();
  await button(page, 'Retire it').click();
  await page.getByRole('dialog').getByText('web-claude has ended: superseded, alice retired it.').waitFor();
  expect(posts(daemon)).toEqual([['/v1/sessions/r-0003x003fakerun/retire', { graceSeconds: 10 }]]);
});

describe('resuming', () => {
  test('goes on with the conversation, with a prompt', async () => {
    const { page, daemon } = await open('mail-claude');
    await button(page, 'Resume…').click();
    await page.getByLabel('What to tell it').fill('now the docs');
    await button(page, 'Resume it').click();
    await page.getByRole('dialog').getByText('Run 2 owns mail-claude: working').waitFor();
    expect(posts(daemon)).toEqual([
      ['/v1/sessions/s-0008fakesession/resume', { tmux: false, prompt: 'now the docs' }],
    ]);
    await button(page, 'Close').click();
    await expect.poll(() => page.locator('.segment').count()).toBe(2);
  });

  test('without a prompt sends none; in tmux if asked for', async () => {
    const { page, daemon } = await open('mail-claude');
    await button(page, 'Resume…').click();
    await page.getByRole('checkbox', { name: 'In a pane of tmux' }).check();
    await button(page, 'Resume it').click();
    await page.getByRole('dialog').getByText('Run 2 owns mail-claude').waitFor();
    expect(posts(daemon)).toEqual([['/v1/sessions/s-0008fakesession/resume', { tmux: true }]]);
  });
});

describe('sending', () => {
  test('types a message into the run that was shown', async () => {
    const { page, daemon } = await open('docs-gemini');
    await button(page, 'Send…').click();
    await page.getByLabel('Message').fill('now the tests');
    expect(await page.getByLabel('Wait until it is idle').isChecked()).toBe(false);
    await button(page, 'Send').click();
    await page.getByRole('dialog').getByText('docs-gemini has taken the message.').waitFor();
    expect(posts(daemon)).toEqual([
      ['/v1/sessions/r-0006x001fakerun/send', { text: 'now the tests', queue: false }],
    ]);
  });

  test('waits for one that is busy, and can be called back', async () => {
    const { page, daemon } = await open('checkout-claude');
    const release = daemon.hold('/send');
    await button(page, 'Send…').click();
    expect(await page.getByLabel('Wait until it is idle').isChecked()).toBe(true);
    await page.getByLabel('Message').fill('yes');
    const aborted = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/send'));
    await button(page, 'Send').click();
    await page.getByText('Waiting until it is idle').waitFor();
    await button(page, 'Cancel').click();
    await aborted;
    release();
  });
});

test('attaching copies the command, and says so', async () => {
  const { page } = await open('checkout-claude');
  await button(page, 'Attach').click();
  const dialog = page.getByRole('dialog', { name: 'Attach to checkout-claude' });
  await dialog.getByText('Copied to the clipboard.').waitFor();
  expect(await dialog.getByLabel('Command').inputValue()).toBe('reeve attach checkout-claude');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('reeve attach checkout-claude');
});

describe('the dialog that attaches', () => {
  test('says that it asks for the command, and has no sentence about one before it is there', async () => {
    const { page, daemon } = await open('checkout-claude');
    const release = daemon.hold('/attach');
    await button(page, 'Attach').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Asking for the command').waitFor();
    expect(await dialog.getByText('Run this').count()).toBe(0);
    release();
    await dialog.getByText('Run this in a terminal.').waitFor();
    await dialog.getByLabel('Command').waitFor();
  });

  test('says why there is none, and nothing else', async () => {
    const { page, daemon } = await open('checkout-claude');
    const error = {
      code: 'out_of_reach',
      message: 'checkout-claude cannot be joined from here: its records are in another state directory.',
      details: {},
    };
    daemon.failures.set('/attach', { status: 409, error });
    await button(page, 'Attach').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText('cannot be joined from here').waitFor();
    expect(await dialog.getByText(/Run this|Asking/).count()).toBe(0);
    expect(await dialog.getByRole('button').allInnerTexts()).toEqual(['Close']);
  });

  test('names the machine on which the command works', async () => {
    const { page, daemon } = await open('checkout-claude');
    daemon.world.joinHost = 'builder';
    await button(page, 'Attach').click();
    await page.getByRole('dialog').getByText('Run this in a terminal on builder.').waitFor();
  });
});

describe('what cannot be done says why', () => {
  const reasons = async (page: Page) =>
    Object.fromEntries(
      await page
        .locator('.actions [aria-disabled="true"]')
        .evaluateAll((buttons) => buttons.map((each) => [each.textContent, each.getAttribute('title')])),
    );

  test('with a live run in tmux', async () => {
    const { page } = await open('checkout-claude');
    expect(await reasons(page)).toEqual({ 'Resume…': 'Run 1 owns it. End that one first.' });
  });

  test('with a live run that has no terminal', async () => {
    const { page, daemon } = await open('web-claude');
    expect(await reasons(page)).toEqual({
      'Send…': 'It does not run in tmux (detached), so nothing can be typed into it.',
      'Resume…': 'Run 3 owns it. End that one first.',
    });
    // It can be reached, so that the reason can be read; it does nothing.
    await button(page, 'Send…').focus();
    await page.keyboard.press('Enter');
    expect(posts(daemon)).toEqual([]);
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('with a live run of which nothing is kept', async () => {
    const world = tenSessions();
    world.add({ name: 'fore', status: 'working', mode: 'foreground' });
    const { page } = await stage.visit(world, { path: '/s/fore' });
    await page.locator('.actions').waitFor();
    expect((await reasons(page))['Attach']).toBe(
      'It does not run in tmux (foreground) and keeps no log, so there is nothing to join or to follow.',
    );
  });

  test('with an ended run', async () => {
    const { page } = await open('mail-claude');
    const ended = 'It has no live run: the last one ended as completed.';
    expect(await reasons(page)).toEqual({
      Attach: ended,
      'Send…': ended,
      'Retire…': ended,
      'Stop…': ended,
    });
  });
});
