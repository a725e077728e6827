import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Everything beyond pure rules is tested through the built package, as users get it. */
export function setup(): void {
  if (process.env['REEVE_TEST_BUILT'] === '1') return;
  const build = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));
  execFileSync(process.execPath, [build], { stdio: 'inherit' });
}
