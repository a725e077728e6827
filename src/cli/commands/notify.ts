/** `notify test`, `notify mute` and `notify unmute`. */
import { mutedWords } from '../../api/time-words.ts';
import { untilFrom } from '../../api/until-words.ts';
import type { UntilWords } from '../../api/until-words.ts';
import { readConfig } from '../../supervisor/config.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { green, red } from '../render/style.ts';
import { withReeve } from '../with-reeve.ts';

/** 1 when any of them failed. */
export async function notifyTest(options: OutputOptions): Promise<number> {
  const { notify } = readConfig(process.env);
  const { tryChannels } = await import('../../daemon/notifications/try-channels.ts');
  const tried = await tryChannels(notify, process.env, process.stderr);
  const lines = tried.channels.map(({ name, because }) =>
    because === null ? `${green('✓')} ${name}: sent` : `${red('✗')} ${name}: ${because}`,
  );
  printLines(options, tried, lines);
  return tried.channels.every(({ sent }) => sent) ? 0 : 1;
}

export async function notifyMute(reference: string, options: OutputOptions & UntilWords): Promise<number> {
  const untilMs = untilFrom(options, Date.now());
  return withReeve(async (reeve) => {
    const muted = await reeve.mute(reference, untilMs);
    printLines(options, muted, [`${muted.session} is ${mutedWords(muted)}.`]);
    return 0;
  });
}

export async function notifyUnmute(reference: string, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const unmuted = await reeve.unmute(reference);
    printLines(options, unmuted, [`${unmuted.session} is not muted.`]);
    return 0;
  });
}
