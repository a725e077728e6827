import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PAGE } from './stage.ts';

test('the page itself is small', () => {
  const assets = readdirSync(join(PAGE, 'assets'));
  const sizes = assets
    .filter((name) => name.startsWith('index-'))
    .map((name) => gzipSync(readFileSync(join(PAGE, 'assets', name))).length);
  expect(sizes).toHaveLength(2);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60 * 1024);
});
