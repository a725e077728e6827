/** What a keeper starts now and then for a run that has a budget. If it fails, the keeper starts another one later. */
import { watchRun } from '../supervisor/watch.ts';

// A terminal's Ctrl-C or hang-up is meant for the harness.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => {});

watchRun(process.argv[2] ?? '').catch(() => {
  process.exitCode = 1;
});
