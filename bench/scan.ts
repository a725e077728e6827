/** What looking for harnesses costs beyond looking at the process table at all. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { compare, inPlace } from './support.ts';
import type { Built, Figure } from './support.ts';

const SAMPLES = 40;
const UNRELATED = 300;

export function measureScan(built: Built): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    const others: ChildProcess[] = Array.from({ length: UNRELATED }, () =>
      spawn('sleep', ['600'], { stdio: 'ignore', env: place.env }),
    );
    const reeve = await place.open();
    try {
      const scan = async () => {
        const begunAt = performance.now();
        await reeve.scan();
        return performance.now() - begunAt;
      };
      await scan();
      onePass();
      const { subject, baseline, ratio, quietRatio } = await compare(SAMPLES, scan, onePass);
      return [
        {
          figure: `scan with ${UNRELATED} unrelated processes to one pass over /proc`,
          measured: ratio,
          bar: { atMost: 2 },
          unit: 'ratio',
          from: `medians of ${SAMPLES}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms; fastest tenth ${quietRatio.toFixed(2)}`,
        },
      ];
    } finally {
      await reeve.close();
      // This process's own children, not collected yet: their pids are theirs.
      for (const other of others) other.kill('SIGKILL');
    }
  });
}

/** Every process, and what the kernel says of it in one line. */
function onePass(): number {
  const begunAt = performance.now();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      readFileSync(`/proc/${pid}/stat`, 'latin1');
    } catch {
      // Gone meanwhile.
    }
  }
  return performance.now() - begunAt;
}
