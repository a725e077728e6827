/** Any other program: it has no conversation that Reeve knows of. */
import type { Adapter } from './adapter.ts';

export const command: Adapter = {
  name: 'command',
  install: 'the way its makers say',
  headless: [],
  readInvocation: () => ({ asked: { is: 'none' }, isInteractive: true }),
  withNewId: () => null,
  withLatest: (argv) => argv,
  withResume: (argv) => argv,
  marks: () => [],
  resumeArgv: (argv) => argv,
  findConversations: () => [],
  latestConversation: () => null,
  stopSignal: () => 'SIGTERM',
  nativeProgram: (path) => path,
  reporting: () => null,
  readReport: () => null,
  readPane: () => null,
  serves: () => null,
  ownRecord: () => null,
};
