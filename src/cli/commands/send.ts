/** `send`: a message into a session that runs in tmux. */
import { ReeveError } from '../../api/errors.ts';
import { printLines } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { openPatiently } from '../with-reeve.ts';

export async function send(
  reference: string,
  given: string,
  options: OutputOptions & { queue?: boolean },
): Promise<number> {
  const text = given === '-' ? await readInput() : given;
  const reeve = await openPatiently();
  const leave = new AbortController();
  const onInterrupt = () => leave.abort();
  process.once('SIGINT', onInterrupt);
  try {
    const sent = await reeve.send(reference, { text, queue: options.queue, signal: leave.signal });
    printLines(options, sent, [`${sent.session} took it (${sent.characters} characters).`]);
    return 0;
  } finally {
    process.off('SIGINT', onInterrupt);
    await reeve.close();
  }
}

/** Far more than what a harness is sent, in bytes. */
const MAX_INPUT_BYTES = 1_000_000;

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk as Buffer));
    bytes += chunks.at(-1)?.length ?? 0;
    if (bytes > MAX_INPUT_BYTES) {
      throw new ReeveError('usage', `The text on standard input has more than ${MAX_INPUT_BYTES} bytes.`, {
        hint: 'Put it into a file, and send the name of the file.',
      });
    }
  }
  return Buffer.concat(chunks).toString('utf8');
}
