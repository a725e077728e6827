/** What this machine lacks, told apart from what is broken: a bench skips the one and reports the other. */
export class MissingProgram extends Error {
  override readonly name = 'MissingProgram';

  constructor(program: string, remedy: string) {
    super(`${program} is not here: ${remedy}`);
  }
}
