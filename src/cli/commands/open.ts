/**
 * `open`: the page, in a browser that is signed in by it. What signs in never stands in a command line, which every user
 * of the machine can read: the browser is given a file of this user's alone, which leads on; or a person types a code.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openMachine } from '../../supervisor/context.ts';
import type { Machine } from '../../supervisor/context.ts';
import { askDaemon } from '../../supervisor/daemon-client.ts';
import { daemonPlace, findDaemon } from '../../supervisor/daemon-place.ts';
import { printLines, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { checkEnvironment } from '../../supervisor/environment-check.ts';
import { refuseInside, startDaemon } from './serve.ts';

export interface OpenOptions extends OutputOptions {
  readonly print?: boolean;
  readonly signOut?: boolean;
}

interface Link {
  /** Signs in whoever opens it first, within a minute. */
  readonly url: string;
  readonly page: string;
  readonly code: string;
}

export async function open(options: OpenOptions): Promise<number> {
  const machine = await openMachine();
  if (options.signOut === true) return signOut(machine, options);
  if (findDaemon(machine).is === 'none') {
    refuseInside(machine);
    await checkEnvironment(machine.environment);
    const { process: started } = await startDaemon(machine, undefined);
    say(`started the daemon (pid ${started.pid}).`);
  }
  // As the daemon of the same package answers.
  const link = (await askDaemon(machine, 'POST', '/v1/link', {})) as Link;
  const program = options.print === true || options.json === true ? null : opener();
  const isOpened = program !== null && (await opens(program, leadingFile(machine, link.url)));
  printLines(options, { ...link, isOpened }, isOpened ? [opened(link)] : printed(link));
  return 0;
}

function opened({ page, code }: Link): string {
  return `The page was opened in the browser. If it was not, go to ${page} within a minute and enter ${spaced(code)}.`;
}

function printed({ url, page, code }: Link): string[] {
  return [url, `This link works once, within a minute. Or go to ${page} and enter ${spaced(code)}.`];
}

function spaced(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

async function signOut(machine: Machine, options: OpenOptions): Promise<number> {
  const { browsers } = daemonPlace(machine.home);
  if (findDaemon(machine).is === 'none') {
    rmSync(browsers, { force: true });
    printLines(options, { signedOut: null }, ['Every browser is signed out.']);
    return 0;
  }
  const { signedOut } = (await askDaemon(machine, 'POST', '/v1/sign-out', {})) as { signedOut: number };
  printLines(options, { signedOut }, [`Every browser is signed out (${signedOut}).`]);
  return 0;
}

const LEADING_FILE = /^open-[\w-]+\.html$/;
/** As long as a link works, and then some for a browser that is slow to start. */
const LEADING_FILE_LIFE_MS = 120_000;

/** Leads a browser on to the address, which only this user can read in it. */
function leadingFile({ home }: Machine, url: string): string {
  const { directory } = daemonPlace(home);
  for (const name of readdirSync(directory).filter((each) => LEADING_FILE.test(each))) {
    const madeAtMs = statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - madeAtMs > LEADING_FILE_LIFE_MS) rmSync(join(directory, name), { force: true });
  }
  const path = join(directory, `open-${randomBytes(9).toString('base64url')}.html`);
  const text = `<!doctype html><meta charset="utf-8"><title>Reeve</title><meta http-equiv="refresh" content="0; url=${url}"><p><a href="${url}">Go on to Reeve</a></p>\n`;
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Over ssh, and on a machine without a desktop, there is nobody to show it to. */
function opener(): string | null {
  if (process.platform === 'darwin') return 'open';
  return process.env['DISPLAY'] === undefined && process.env['WAYLAND_DISPLAY'] === undefined
    ? null
    : 'xdg-open';
}

function opens(program: string, file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [pathToFileURL(file).href], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}
