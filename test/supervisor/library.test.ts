/** What only the library can be given: the command line cannot even spell it. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openReeve } from '../../src/supervisor/reeve.ts';
import type { Reeve } from '../../src/supervisor/reeve.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let reeve: Reeve;
beforeEach(async () => {
  sandbox = createSandbox();
  reeve = await openReeve({ home: sandbox.home, environment: sandbox.env });
});
afterEach(async () => {
  await reeve.close();
  await sandbox.cleanUp();
});

it.each([
  ['a command with a NUL', { argv: ['echo', 'a\0b'] }],
  ['a directory with a NUL', { argv: ['true'], cwd: '/tmp\0' }],
  ['a negative grace', { argv: ['true'], graceMs: -1 }],
  ['a grace that is no number', { argv: ['true'], graceMs: Number.NaN }],
  ['no command', { argv: [] }],
])('%s is refused as bad usage, and nothing is claimed', async (_what, request) => {
  await expect(reeve.launch(request)).rejects.toMatchObject({ name: 'ReeveError', code: 'usage' });
  expect(await reeve.list('all')).toEqual([]);
});

it('a run is launched, refused to a second, followed, retired and told', async () => {
  const script = 'echo working; exec sleep 60';
  const first = await reeve.launch({ session: 'a', cwd: sandbox.root, argv: ['sh', '-c', script] });
  if (first.is !== 'started') throw new Error(`It was ${first.is}.`);
  first.release();
  const second = await reeve.launch({ session: 'a', cwd: sandbox.root, argv: ['true'] });
  expect(second).toMatchObject({ is: 'refused', code: 'live_owner', run: { id: first.run.id } });
  for await (const chunk of reeve.logs('a', { follow: true })) {
    expect(String(chunk)).toBe('working\n');
    break;
  }
  expect(await reeve.retire('a')).toMatchObject({ is: 'ended', run: { ending: { outcome: 'superseded' } } });
  const { sentences } = await reeve.why('a');
  expect(sentences.at(-1)?.text).toContain(first.run.id);
});
