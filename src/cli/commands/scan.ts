/** `scan` and `adopt`: harnesses that live on this machine, whoever started them. */
import { ReeveError } from '../../api/errors.ts';
import type { Leftover, Scan, ScannedHarness } from '../../supervisor/scan.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { bold, dim, green, red, yellow } from '../render/style.ts';
import { plainCut } from '../render/width.ts';
import { age } from '../../api/time-words.ts';
import { openPatiently } from '../with-reeve.ts';

export async function scan(options: OutputOptions): Promise<number> {
  const reeve = await openPatiently();
  try {
    const found = await reeve.scan();
    printLines(options, found, renderScan(found, Date.now()));
    return 0;
  } finally {
    await reeve.close();
  }
}

const STATE_COLOURS = { managed: green, nested: dim, unmanaged: yellow } as const;
const MAX_COMMAND_WIDTH = 70;

function renderScan({ harnesses, leftovers }: Scan, nowMs: number): string[] {
  const lines: string[] = [];
  if (harnesses.length === 0) lines.push(dim('No live harness was found.'));
  else lines.push(...harnesses.flatMap((each) => renderHarness(each, nowMs)));
  if (leftovers.length > 0) {
    lines.push(
      '',
      bold('Left behind by harnesses that are gone'),
      ...leftovers.map((each) => renderLeftover(each, nowMs)),
    );
  }
  return lines;
}

function renderHarness(each: ScannedHarness, nowMs: number): string[] {
  const state = STATE_COLOURS[each.state](each.state.padEnd(9));
  const owner = each.session === null ? '' : ` ${each.state === 'nested' ? 'in ' : ''}${bold(each.session)}`;
  const second = each.duplicates.length === 0 ? '' : red(`  DUPLICATE of pid ${each.duplicates.join(', ')}`);
  const conversation = each.nativeId ?? 'conversation not known';
  return [
    `${state} ${each.harness.padEnd(8)} pid ${String(each.pid).padEnd(8)}${since(each.since, nowMs)}  ${conversation}${owner}${second}`,
    dim(`          ${plainCut(commandOf(each.argv), MAX_COMMAND_WIDTH)}  ${each.cwd ?? ''}`),
  ];
}

function renderLeftover({ pid, argv, name, mark, since: from }: Leftover, nowMs: number): string {
  return `${red('leftover ')} pid ${String(pid).padEnd(8)}${since(from, nowMs)}  ${plainCut(commandOf(argv) || name, MAX_COMMAND_WIDTH)}  ${dim(mark)}`;
}

function commandOf([program = '', ...args]: readonly string[]): string {
  return [program.split('/').at(-1), ...args].join(' ');
}

function since(at: string | null, nowMs: number): string {
  return (at === null ? '' : age(Date.parse(at), nowMs)).padStart(4);
}

export async function adopt(word: string, options: OutputOptions & { session?: string }): Promise<number> {
  if (!/^[1-9]\d{0,9}$/.test(word)) {
    throw new ReeveError('usage', `${JSON.stringify(word.slice(0, 40))} is not a process id.`, {
      hint: '`reeve scan` lists live harnesses with theirs.',
    });
  }
  const reeve = await openPatiently();
  try {
    const { session, run } = await reeve.adopt(Number(word), { session: options.session });
    const text = `${session.name}: pid ${word} is supervised from now on, as run ${run.id}. Its end will be known, but not its exit code; what can be found of what it started then ends with it.`;
    printLines(options, await reeve.show(session.id), [text]);
    return 0;
  } finally {
    await reeve.close();
  }
}
