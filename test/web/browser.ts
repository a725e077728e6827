import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { MissingProgram } from '../support/missing-program.ts';

/** Without a window, and a third of the work; or the whole of it. */
const PROGRAMS = ['chromium-headless-shell', 'chromium'];

/** Debian's, or the one that REEVE_CHROMIUM names. */
export function openBrowser(): Promise<Browser> {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const known = PROGRAMS.flatMap((program) => directories.map((directory) => join(directory, program)));
  const executablePath = process.env['REEVE_CHROMIUM'] ?? known.find((path) => existsSync(path));
  if (executablePath === undefined) throw new MissingProgram('chromium', 'apt-get install chromium');
  // As root, as in most containers, it has no sandbox; it opens nothing but pages of this package.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
