/** What printing ten thousand sessions costs beside reading them. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { copyWithHistory } from './history.ts';
import { commandMs, compare, inPlace } from './support.ts';
import type { Built, Figure } from './support.ts';

const SAMPLES = 9;

export function measureLsAll(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    // The first look makes the store that the history is added to.
    commandMs([built.cli, 'ls'], place);
    const withHistory = await copyWithHistory(place, 0);
    const print = () => commandMs([built.cli, 'ls', '--all'], withHistory);
    const read = () => commandMs(['--input-type=module', '--eval', reading(built)], withHistory);
    print();
    read();
    const { subject, baseline, ratio, quietRatio } = await compare(SAMPLES, print, read);
    return [
      {
        figure: '`ls --all` of 10,000 ended to reading them from the store',
        measured: ratio,
        bar: { atMost: 2 },
        unit: 'ratio',
        from: `medians of ${SAMPLES}: ${subject.toFixed(0)} ms to ${baseline.toFixed(0)} ms; fastest tenth ${quietRatio.toFixed(2)}`,
      },
    ];
  });
}

/** A program that does nothing else: by the library of the same build, in a process of its own too. */
function reading({ cli }: Built): string {
  const library = pathToFileURL(join(cli, '..', 'index.js')).href;
  return `import { openReeve } from ${JSON.stringify(library)};
const reeve = await openReeve();
if ((await reeve.list('all')).length < 10_000) process.exitCode = 1;
await reeve.close();`;
}
