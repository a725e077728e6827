import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { MissingProgram } from '../support/missing-program.ts';

/** Debian's, or the one that REEVE_CHROMIUM names. */
export function openBrowser(): Promise<Browser> {
  const known = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'chromium'));
  const executablePath = process.env['REEVE_CHROMIUM'] ?? known.find((path) => existsSync(path));
  if (executablePath === undefined) throw new MissingProgram('chromium', 'apt-get install chromium');
  // As root, as in most containers, it has no sandbox; it opens nothing but pages of this package.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
