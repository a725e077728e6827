/** The page as it is used: in a browser, opened by `reeve open`, from a real daemon with real sessions. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SessionView } from '../../src/api/session-view.ts';
import { openStore } from '../../src/store/open.ts';
import { recordEnded } from '../../bench/record.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { eventually, isAlive, see, signalSeen } from '../support/processes.ts';
import { startObeying } from '../support/obeying.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { openBrowser } from './browser.ts';
import { overflows, rowNames } from './stage.ts';

const LIMIT_MS = 20_000;
const README_SHOT = fileURLToPath(new URL('../../docs/page.png', import.meta.url));

let browser: Browser;
let sandbox: Sandbox;
let standIns: StandIns;
let contexts: BrowserContext[];
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());
beforeEach(() => {
  sandbox = createSandbox();
  standIns = installStandIns(sandbox, 'claude', 'codex');
  contexts = [];
});
afterEach(async () => {
  await Promise.all(contexts.map((context) => context.close()));
  await sandbox.json(['serve', 'stop']);
  await sandbox.cleanUp();
});

const serve = () => sandbox.json<{ pid: number }>(['serve', '--detach']);

async function visit(width = 1280, scheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const { url } = await sandbox.json<{ url: string }>(['open']);
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: scheme });
  contexts.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  await page.goto(url);
  await page.locator('.live-mark.is-live').waitFor();
  return page;
}

/** A directory of its own with a branch checked out, as sessions have. */
function project(name: string, branch: string): string {
  const directory = sandbox.path(`src/${name}`);
  mkdirSync(join(directory, '.git'), { recursive: true });
  writeFileSync(join(directory, '.git', 'HEAD'), `ref: refs/heads/${branch}\n`);
  return directory;
}

async function start(session: string, ...command: string[]): Promise<SessionView> {
  const words = ['run', '-d', '-s', session, '--cwd', project(session, `work/${session}`), '--', ...command];
  return sandbox.json<SessionView>(words);
}

/** One of the stand-in harnesses, told what to report. */
async function harness(session: string, program: string, ...reports: string[]): Promise<void> {
  const words = program === 'claude' ? ['claude', '--session-id', randomUUID()] : [program];
  const { run } = await start(session, ...words);
  await standIns.ready(run.pid);
  for (const report of reports) await standIns.tell(run.pid ?? 0, report);
}

/** One in each group, and what led there. */
async function everyGroup(): Promise<void> {
  await harness('web', 'claude', 'hook UserPromptSubmit', 'hook PermissionRequest {"tool_name":"Bash"}');
  await harness('docs', 'claude', 'hook UserPromptSubmit', 'hook Stop');
  await harness('api', 'claude', 'hook UserPromptSubmit');
  await start('bench', 'sleep', '600');
  await start('broken', 'sh', '-c', 'echo it broke; exit 3');
  await start('deploy', 'sleep', '600');
  await sandbox.json(['stop', 'deploy']);
  await eventually('the broken one ended', async () => (await sandbox.show('broken')).status === 'failed');
}

const group = (page: Page, name: string) => page.getByRole('region', { name: new RegExp(`^${name} \\d+$`) });
const row = (page: Page, name: string) =>
  page.locator('.row', { has: page.getByRole('link', { name, exact: true }) });

async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  );
}

describe('a browser that is not signed in', () => {
  const unknown = async (path: string) => {
    const context = await browser.newContext();
    contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    await page.goto(path);
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
    return page;
  };

  it('is, by the code that `reeve open` prints, on whatever page it is, and not by another', async () => {
    const { id } = await start('web', 'sleep', '600');
    const { page: address, code } = await sandbox.json<{ page: string; code: string }>(['open']);
    const page = await unknown(`${address}s/${id}`);
    const field = page.getByLabel('Or enter the code that it prints');
    await field.fill('WRONGONE');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This code is wrong').waitFor();
    await field.fill(`${code.slice(0, 4).toLowerCase()}-${code.slice(4)}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'web' }).waitFor();
    await page.locator('.live-mark.is-live').waitFor();
  });

  it('is told so as soon as all are signed out, and shows nothing new', async () => {
    await serve();
    const page = await visit();
    await sandbox.json(['open', '--sign-out']);
    await page.locator('.live-mark', { hasText: 'not signed in' }).waitFor();
    await start('later', 'sleep', '600');
    await page.reload();
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor();
  });
});

describe('the overview', () => {
  it('has each session in its group, with what it waits for, where it is and who owns it', async () => {
    await everyGroup();
    await serve();
    const page = await visit();
    await group(page, 'Needs you').getByText('permission to use Bash').waitFor();
    for (const [name, sessions] of [
      ['Needs you', ['web']],
      ['Working', ['api', 'bench']],
      ['Idle', ['docs']],
      ['Ended', ['broken', 'deploy']],
    ] as const) {
      const names = await group(page, name).locator('.row .who a').allTextContents();
      expect(names.toSorted()).toEqual(sessions);
    }
    const text = await row(page, 'bench').innerText();
    expect(text).toContain('work/bench');
    expect(text).toMatch(/\d+ [KM]B/);
    expect(text).toMatch(/pid \d+/);
    expect(await accessibilityFaults(page)).toEqual([]);
    const shot = await page.screenshot({ clip: { x: 0, y: 0, width: 1280, height: 570 } });
    if (process.env['REEVE_WRITE_SCREENSHOT'] !== undefined) writeFileSync(README_SHOT, shot);
    expect(shot.length).toBeGreaterThan(10_000);
  });

  it('has a child below its parent, which its own page names, and the board of reviews has an address', async () => {
    const parent = await startObeying(sandbox, 'lead');
    const terms = ['--on-parent-end', 'adopt', '--subject', 'pr-7', '--revision', '3f2a91c'];
    await parent.json(['child', 'run', '-d', '-s', 'review', ...terms, '--', 'sleep', '300']);
    await serve();
    const page = await visit();
    const child = group(page, 'Working').locator('[data-session="lead"] + [data-session="review"]');
    await child.waitFor();
    expect(await child.getAttribute('aria-level')).toBe('2');
    await page.getByRole('link', { name: 'review', exact: true }).click();
    const line = page.locator('.parent-line');
    await line.waitFor();
    expect(await line.innerText()).toBe(
      '↳ A child of lead, started in its run 1; handed on; about pr-7@3f2a91c.',
    );
    await line.getByRole('link', { name: 'lead' }).click();
    const children = page.getByRole('region', { name: 'Children' });
    await children.getByRole('link', { name: 'review' }).waitFor();
    // Handed on: below the run that took its parent's session over.
    await sandbox.json(['run', '-d', '-s', 'lead', '--on-live', 'retire', '--', 'sleep', '300']);
    await page.goto(new URL('/', page.url()).href);
    await child.waitFor();
    await page.goto(new URL('/reviews', page.url()).href);
    await page.getByText('No reviews yet').waitFor();
  });

  it('shows at once what happens elsewhere, and goes on when another daemon takes over', async () => {
    await serve();
    const page = await visit();
    await page.getByText('No sessions yet').waitFor();
    await start('one', 'sleep', '600');
    await row(page, 'one').waitFor();
    await start('two', 'sleep', '600');
    await sandbox.json(['serve', '--detach', '--replace']);
    await sandbox.json(['stop', 'one']);
    await group(page, 'Ended').getByRole('link', { name: 'one', exact: true }).waitFor();
    await group(page, 'Working').getByRole('link', { name: 'two', exact: true }).waitFor();
    expect((await rowNames(page)).toSorted()).toEqual(['one', 'two']);
  });

  it('keeps what it shows when the daemon is killed, and asks to be signed in by the next one', async () => {
    const daemon = await serve();
    const page = await visit();
    await start('one', 'sleep', '600');
    await row(page, 'one').waitFor();
    const process = see(daemon.pid);
    signalSeen(process, 'SIGKILL');
    await eventually('the daemon is dead', () => !isAlive(process));
    await page.locator('.live-mark.is-lost').waitFor();
    expect(await rowNames(page)).toEqual(['one']);
    await serve();
    await page.getByText('Not signed in').waitFor();
  });

  it('stays usable with 500 sessions, at 400 pixels, by keyboard and in the dark', async () => {
    await sandbox.json(['ls']);
    const store = await openStore({ sqlite: join(sandbox.home, 'reeve.db') });
    for (let index = 0; index < 500; index += 1) await recordEnded(store, `ended-${index}`);
    await store.close();
    for (const name of ['one', 'two', 'three']) await start(name, 'sleep', '600');
    await serve();
    const page = await visit(400, 'dark');
    await row(page, 'three').waitFor();
    expect(await overflows(page)).toBe(false);
    await page.getByRole('button', { name: /earlier/i }).click();
    await page.getByRole('region', { name: 'Ended 500' }).waitFor();
    expect(await overflows(page)).toBe(false);
    await page.keyboard.press('/');
    await page.keyboard.type('ended-123');
    await eventually('only that one', async () => (await rowNames(page)).join() === 'ended-123');
    // Out of the field, with the one row still there to go to; then out of the search.
    for (let press = 0; press < 2; press += 1) await page.keyboard.press('Escape');
    await row(page, 'one').waitFor();
    await page.locator('body').press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/s\/s-/);
    expect(await overflows(page)).toBe(false);
    expect(await accessibilityFaults(page)).toEqual([]);
  }, 120_000);
});

describe('a session', () => {
  it('shows who owned it when, why, and its output as it comes', async () => {
    await start('a', 'sh', '-c', 'echo first owner; sleep 600');
    await sandbox.json([
      'run',
      '-d',
      '-s',
      'a',
      '--force',
      '--',
      'sh',
      '-c',
      'echo second owner; sleep 1; exit 3',
    ]);
    await eventually('it failed', async () => (await sandbox.show('a')).status === 'failed');
    await sandbox.json(['run', '-d', '-s', 'a', '--', 'sh', '-c', 'echo third owner; cat']);
    await serve();
    const page = await visit();
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByText('3 runs, one owner at a time').waitFor();
    await page.getByText('As a list').click();
    const list = page.getByRole('list').filter({ hasText: /superseded/ });
    await list.first().waitFor();
    expect(await list.first().innerText()).toMatch(/superseded[\s\S]*failed/);
    await page.getByRole('region', { name: 'The end of the log' }).getByText('third owner').waitFor();
    await page
      .getByText(/claimed the session for run 3/)
      .first()
      .waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  it('is stopped after a question that names what will end, and is then shown as ended', async () => {
    const { run } = await start('a', 'sleep', '600');
    const process = see(run.pid ?? 0);
    await serve();
    const page = await visit();
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByRole('button', { name: /^Stop/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(String(run.pid)).first().waitFor();
    expect(isAlive(process)).toBe(true);
    await dialog.getByRole('button', { name: /^Stop/ }).click();
    await eventually('it is gone', () => !isAlive(process));
    await eventually('its end is on record', async () => (await sandbox.show('a')).status === 'stopped');
    await dialog.getByRole('button', { name: /close|done/i }).click();
    await page.locator('.heading, header, main').getByText('stopped', { exact: true }).first().waitFor();
  });
});
