/** What a detached start costs beyond the start of Node itself. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { commandMs, compare, inPlace, settled } from './support.ts';
import type { Figure, Built } from './support.ts';

const SAMPLES = 40;

export function measureStart(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const start = async () => {
      // The session's name is made of the directory's, and looking for a free one is not what is measured here.
      const root = mkdtempSync(join(place.root, 'project-'));
      const tookMs = commandMs([built.cli, 'run', '--detach', '--', 'true'], { ...place, root });
      await settled(place.home);
      return tookMs;
    };
    // The first one makes the state directory, and both read their programs from disk.
    await start();
    const { subject, baseline, ratio, quietRatio } = await compare(SAMPLES, start, () =>
      commandMs(['-e', '0'], place),
    );
    return [
      {
        figure: '`run --detach -- true` to `node -e 0`',
        measured: ratio,
        bar: { atMost: 3 },
        unit: 'ratio',
        from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms; fastest tenth ${quietRatio.toFixed(2)}`,
      },
    ];
  });
}
