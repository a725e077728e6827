/** What a harness waits for at each of its hooks. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hookCommand } from '../src/harness/hook-command.ts';
import { inPlace, median } from './support.ts';
import type { Built, Figure } from './support.ts';

const SAMPLES = 100;

/** As large as those that come most often: a tool was used. */
const PAYLOAD = JSON.stringify({
  session_id: '00000000-0000-4000-8000-000000000000',
  hook_event_name: 'PostToolUse',
  tool_name: 'Bash',
  tool_response: 'x'.repeat(2_000),
});

/**
 * Both in turns, from a small process: from this one, the copying of its memory for each child would be most of what is
 * measured. Prints microseconds, a pair a line.
 */
const DRIVER = `
for ((round = 0; round < $3; round += 1)); do
  begun=\${EPOCHREALTIME/./}
  "$NODE" -e 0
  between=\${EPOCHREALTIME/./}
  /bin/sh -c "$1" < "$2"
  ended=\${EPOCHREALTIME/./}
  echo $((between - begun)) $((ended - between))
done`;

export function measureHook(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const runDirectory = join(place.root, 'runs', 'r-bench');
    mkdirSync(join(runDirectory, 'hooks'), { recursive: true });
    const payload = join(place.root, 'payload');
    writeFileSync(payload, PAYLOAD);
    const command = hookCommand(join(dirname(built.cli), 'hook.sh'), runDirectory);
    const said = execFileSync('bash', ['-c', DRIVER, 'bench', command, payload, String(SAMPLES)], {
      cwd: place.root,
      env: { ...place.env, NODE: process.execPath },
      encoding: 'utf8',
    });
    const pairs = said
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map((word) => Number(word) / 1000));
    const [node, hook] = [0, 1].map((column) => median(pairs.map((pair) => pair[column] ?? Number.NaN)));
    if (node === undefined || hook === undefined) throw new Error('Nothing was measured.');
    return [
      {
        figure: 'hook command, through the shell of the harness, to `node -e 0`',
        measured: hook / node,
        bar: { atMost: 0.15 },
        unit: 'ratio',
        from: `medians of ${SAMPLES}: ${hook.toFixed(2)} ms to ${node.toFixed(1)} ms`,
      },
    ];
  });
}
