/** An adapter for whole command lines, with launchers in front: they stay where they are, the rest is the harness's. */
import type { Adapter } from './adapter.ts';
import { findCommand } from './launcher.ts';

export function behindLaunchers(adapter: Adapter): Adapter {
  const inside = <T>(argv: readonly string[], read: (line: readonly string[]) => T): T =>
    read(argv.slice(findCommand(argv).at));
  const keeping = (argv: readonly string[], change: (line: readonly string[]) => readonly string[]) => [
    ...argv.slice(0, findCommand(argv).at),
    ...inside(argv, change),
  ];
  return {
    ...adapter,
    readInvocation: (argv) => inside(argv, (line) => adapter.readInvocation(line)),
    stopSignal: (argv) => inside(argv, (line) => adapter.stopSignal(line)),
    withNewId: (argv, nativeId) => {
      const pinned = inside(argv, (line) => adapter.withNewId(line, nativeId));
      return pinned === null ? null : keeping(argv, () => pinned);
    },
    withLatest: (argv, nativeId) => keeping(argv, (line) => adapter.withLatest(line, nativeId)),
    withResume: (argv, nativeId) => keeping(argv, (line) => adapter.withResume(line, nativeId)),
    resumeArgv: (argv, nativeId, prompt) =>
      keeping(argv, (line) => adapter.resumeArgv(line, nativeId, prompt)),
    reporting: (order) => {
      const { argv, place } = order;
      const { environment } = findCommand(argv, place.environment);
      const reporting = inside(argv, (line) =>
        adapter.reporting({ ...order, argv: line, place: { ...place, environment } }),
      );
      return reporting === null ? null : { ...reporting, argv: keeping(argv, () => reporting.argv) };
    },
  };
}
