import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { pageStage, rowNames } from './stage.ts';
import type { FakeDaemon } from './fake-daemon.ts';
import { tenSessions } from './fake-scenes.ts';
import { end } from './fake-verbs.ts';

const stage = pageStage();

describe('the overview keeps itself current', () => {
  test('a pushed event moves its session to its new group, and asks for nothing else', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    const session = daemon.world.named('docs-gemini');
    session.detail = {
      ...session.detail,
      status: 'needs-input',
      activity: { since: new Date().toISOString(), evidence: 'its hook', waitingFor: 'which file to edit' },
    };
    const before = overviewsAsked(daemon).length;
    daemon.push(session, 'harness.input.needed', 'It waits for a person: which file to edit (its hook).');
    await page.getByRole('region', { name: 'Needs you 3' }).getByText('which file to edit').waitFor();
    await page.getByRole('region', { name: 'Idle 1' }).waitFor();
    expect(overviewsAsked(daemon).slice(before)).toEqual([`/v1/sessions?ids=${session.detail.id}`]);
    expect(await page.title()).toBe('(3) Reeve');
  });

  test('the focus goes along with a session into its new group', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    await page.getByRole('link', { name: 'web-claude' }).focus();
    end(daemon, daemon.world.named('web-claude'), 'failed', 'the command returned 2');
    await page.getByRole('region', { name: 'Ended 4' }).waitFor();
    await expect.poll(() => page.locator('.group-ended a:focus').innerText()).toBe('web-claude');
  });

  test('a burst of events is one question', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    const [one, other] = [daemon.world.named('web-claude'), daemon.world.named('api-codex')];
    const before = overviewsAsked(daemon).length;
    for (let count = 0; count < 20; count += 1) daemon.push(one, 'harness.work.continued', 'It went on.');
    end(daemon, other, 'failed', 'the command returned 2');
    await page.locator('[data-session="api-codex"]').getByText('the command returned 2').waitFor();
    expect(overviewsAsked(daemon).slice(before)).toEqual([
      `/v1/sessions?ids=${one.detail.id},${other.detail.id}`,
    ]);
  });

  test('a new session appears, a forgotten one goes', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    daemon.push(
      daemon.world.add({ name: 'fresh-claude', status: 'working' }),
      'run.executing',
      'The command is executing.',
    );
    await page
      .getByRole('region', { name: 'Working 4' })
      .getByRole('link', { name: 'fresh-claude' })
      .waitFor();
    daemon.forget(daemon.world.named('mail-claude'));
    await page.getByRole('region', { name: 'Ended 2' }).waitFor();
    expect(await rowNames(page)).not.toContain('mail-claude');
  });
});

describe('a tab in the background', () => {
  const show = (page: Page, state: 'visible' | 'hidden') =>
    page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);

  test('lets go of its connections, and misses nothing', async () => {
    const world = tenSessions();
    const { page, daemon } = await stage.visit(world, { path: `/s/${world.named('web-claude').detail.id}` });
    await page.locator('.log').getByText('12 passed').waitFor();
    await page.locator('.live-mark.is-live').waitFor();
    expect([daemon.streamCount, daemon.logStreamCount]).toEqual([1, 1]);
    await show(page, 'hidden');
    await expect.poll(() => daemon.logStreamCount).toBe(0);
    await expect.poll(() => daemon.streamCount, { timeout: 15_000 }).toBe(0);
    daemon.write(daemon.world.named('web-claude'), 'written meanwhile\n');
    end(daemon, daemon.world.named('api-codex'), 'failed', 'the command returned 3');
    await show(page, 'visible');
    await page.locator('.log').getByText('written meanwhile').waitFor();
    expect((await page.locator('.log').innerText()).match(/12 passed/g)).toHaveLength(1);
    await page.getByRole('link', { name: 'All sessions' }).click();
    await page.getByRole('region', { name: 'Ended 4' }).waitFor();
  });
});

describe('without a connection', () => {
  test('the page says so and since when, and comes back without a missed or a doubled row', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    await daemon.goAway();
    const bar = page.locator('.connection-bar [role="status"]');
    await bar.getByText('Not connected').waitFor();
    expect(await bar.innerText()).toMatch(
      /^Not connected to the daemon since \d\d:\d\d:\d\d\. What is shown is as of then\./,
    );
    expect(await rowNames(page)).toHaveLength(10);
    changeWhileAway(daemon);
    await daemon.listen();
    await page.locator('.live-mark.is-live').waitFor();
    await page.getByRole('region', { name: 'Ended 4' }).getByText('returned 3').waitFor();
    await page.getByRole('link', { name: 'born-meanwhile' }).waitFor();
    expect(await bar.innerText()).toBe('');
    expect((await rowNames(page)).toSorted()).toEqual(
      [...daemon.world.sessions.values()].map(({ detail }) => detail.name).toSorted(),
    );
  });

  test('somebody who does not want to wait can try at once', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    // From here on the page's own patience never runs out: only the button brings it back.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1_000);
    await daemon.goAway();
    await page.locator('.live-mark.is-lost').waitFor();
    await daemon.listen();
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.locator('.live-mark.is-live').waitFor();
  });

  test('a dropped stream alone is opened again after the last event seen', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    const session = daemon.world.named('web-claude');
    const { seq } = daemon.push(session, 'harness.work.continued', 'It went on.');
    await expect.poll(() => daemon.asked.some(({ path }) => path.includes('ids='))).toBe(true);
    daemon.dropStreams();
    await expect
      .poll(() => daemon.asked.map(({ path }) => path))
      .toContain(`/v1/events?after=${String(seq)}`);
    await page.locator('.live-mark.is-live').waitFor();
    end(daemon, session, 'stopped', 'alice stopped it');
    await page.getByRole('region', { name: 'Ended 4' }).waitFor();
  });

  test('an answer that fails is asked for again', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    const error = { code: 'store_unavailable', message: 'The store is busy.', details: {} };
    daemon.failures.set('/sessions', { status: 503, error });
    end(daemon, daemon.world.named('web-claude'), 'stopped', 'alice stopped it');
    await expect.poll(() => daemon.asked.some(({ path }) => path.includes('ids='))).toBe(true);
    daemon.failures.clear();
    await page.getByRole('region', { name: 'Ended 4' }).waitFor();
  });

  test('one who is no longer authorised is told, and what is shown stays', async () => {
    const { page, daemon } = await stage.visit(tenSessions());
    await page.locator('.live-mark.is-live').waitFor();
    daemon.isAuthorised = false;
    daemon.dropStreams();
    await page.getByText('No longer authorised.').waitFor();
    expect(await rowNames(page)).toHaveLength(10);
    daemon.isAuthorised = true;
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.locator('.live-mark.is-live').waitFor();
  });
});

function changeWhileAway(daemon: FakeDaemon): void {
  end(daemon, daemon.world.named('api-codex'), 'failed', 'the command returned 3');
  const born = daemon.world.add({ name: 'born-meanwhile', status: 'idle' });
  daemon.push(born, 'run.executing', 'The command is executing.');
}

function overviewsAsked({ asked }: FakeDaemon): string[] {
  return asked.map(({ path }) => path).filter((path) => path.startsWith('/v1/sessions?'));
}
