/** The library's types, as a project of somebody else compiles them: with TypeScript's own defaults, and nothing of ours. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

let project: string;
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'reeve-consumer-'));
  const installed = join(project, 'node_modules/reeve');
  mkdirSync(installed, { recursive: true });
  cpSync(join(PACKAGE, 'package.json'), join(installed, 'package.json'));
  cpSync(join(PACKAGE, 'dist/types'), join(installed, 'dist/types'), { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

/** The README's example, and whatever else has a type that could come from Node. */
const PROGRAM = `
import { doctor, openReeve, ReeveError } from 'reeve';
import type { LaunchResult, SessionView } from 'reeve';

const reeve = await openReeve();
const started: LaunchResult = await reeve.launch({ session: 'web', argv: ['claude', '-p', 'fix it'] });
if (started.is === 'refused') console.log('owned by', started.run.id);
if (started.is === 'started') started.forward('SIGTERM');
for await (const chunk of reeve.logs('web', { follow: true })) console.log(chunk.byteLength);
const sessions: readonly SessionView[] = await reeve.list('live');
console.log(sessions.map(({ name }) => name), (await doctor())[0]?.says, ReeveError.name);
await reeve.close();
`;

function compile(program: string, options: Readonly<Record<string, unknown>>): string {
  writeFileSync(join(project, 'program.ts'), program);
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  const tsc = join(PACKAGE, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr } = spawnSync(process.execPath, [tsc, '--noEmit', '-p', project], {
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`;
}

it('compile with the defaults, where no types of Node are installed', () => {
  expect(compile(PROGRAM, {})).toBe('');
});

it('compile as strictly as can be', () => {
  const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  expect(compile(PROGRAM, { ...strict, module: 'nodenext', target: 'es2023' })).toBe('');
});

it('compile with the defaults, where types of Node are installed and not named', () => {
  mkdirSync(join(project, 'node_modules/@types'));
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(PACKAGE, 'node_modules', name), join(project, 'node_modules', name));
  expect(compile(PROGRAM, {})).toBe('');
});

it('compile where types of Node are named, and what a log gives can then be written out', () => {
  mkdirSync(join(project, 'node_modules/@types'));
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(PACKAGE, 'node_modules', name), join(project, 'node_modules', name));
  const program = `${PROGRAM}\nfor await (const chunk of reeve.logs('web')) process.stdout.write(chunk);\n`;
  expect(compile(program, { types: ['node'] })).toBe('');
});

it('are wrong where a program is wrong', () => {
  expect(compile(PROGRAM.replace("'live'", "'dead'"), {})).toContain('program.ts');
});
