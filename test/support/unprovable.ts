/** Processes of which nobody here can prove anything: they are on another host, as the record has it. */
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Sandbox } from './sandbox.ts';

/** The keeper of a run, until the answer is called. */
export function unprovable(sandbox: Sandbox, runId: string): () => void {
  return elsewhere(sandbox, `runs set keeper = ? where id = '${runId}'`, 'keeper');
}

/** Whoever holds the lock on the reviews of a sandbox's only worker, until the answer is called. */
export function unprovableHolder(sandbox: Sandbox): () => void {
  return elsewhere(sandbox, 'review_locks set holder = ? where true', 'holder');
}

function elsewhere(sandbox: Sandbox, update: string, column: string): () => void {
  const inStore = <T>(work: (database: InstanceType<typeof DatabaseSync>) => T): T => {
    const database = new DatabaseSync(join(sandbox.home, 'reeve.db'));
    try {
      database.exec('pragma busy_timeout = 5000');
      return work(database);
    } finally {
      database.close();
    }
  };
  const write = (value: string) => inStore((database) => database.prepare(`update ${update}`).run(value));
  const before = inStore((database) => {
    const from = update.replace(/ set .* where /, ' where ');
    return String(database.prepare(`select ${column} as value from ${from}`).get()?.['value']);
  });
  write(JSON.stringify({ ...(JSON.parse(before) as object), host: 'another-host', boot: 'another-boot' }));
  return () => void write(before);
}
