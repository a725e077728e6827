/** Whether a command can be executed, as far as that can be told without executing it. */
import { ReeveError } from '../api/errors.ts';
import { refuseProgram } from '../process/refuse-program.ts';
import type { Context } from './context.ts';

export function requireProgram({ environment }: Context, program: string, cwd: string): void {
  const because = refuseProgram(program, cwd, environment['PATH']);
  if (because === null) return;
  throw new ReeveError('usage', `${JSON.stringify(program)} cannot be executed: ${because}.`, {
    hint: 'Nothing was changed. Check how it is written, or give its path.',
    details: { program, cwd },
  });
}
