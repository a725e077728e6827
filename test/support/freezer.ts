/** Frozen by the old freezer, a process does not die of SIGKILL until it is thawed: the unkillable, staged. */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './processes.ts';

export const FREEZER = '/sys/fs/cgroup/freezer';

export interface Freezer {
  freeze(pid: number): void;
  /** Whoever was killed meanwhile dies now. */
  thaw(): void;
  remove(): Promise<void>;
}

export function createFreezer(): Freezer {
  const directory = join(FREEZER, `reeve-test-${process.pid}-${performance.now()}`);
  mkdirSync(directory);
  const thaw = () => writeFileSync(join(directory, 'freezer.state'), 'THAWED');
  return {
    freeze: (pid) => {
      writeFileSync(join(directory, 'cgroup.procs'), String(pid));
      writeFileSync(join(directory, 'freezer.state'), 'FROZEN');
    },
    thaw,
    remove: async () => {
      thaw();
      await eventually(
        'the freezer is empty',
        () => readFileSync(join(directory, 'cgroup.procs'), 'utf8') === '',
      );
      rmdirSync(directory);
    },
  };
}
