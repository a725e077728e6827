/** `send`: a message into a session that runs in tmux. */
import { openReeve } from '../../supervisor/reeve.ts';
import { print } from '../output.ts';
import type { OutputOptions } from '../output.ts';

export async function send(
  reference: string,
  given: string,
  options: OutputOptions & { queue?: boolean },
): Promise<number> {
  const text = given === '-' ? await readInput() : given;
  const reeve = await openReeve();
  const leave = new AbortController();
  const onInterrupt = () => leave.abort();
  process.once('SIGINT', onInterrupt);
  try {
    const sent = await reeve.send(reference, { text, queue: options.queue, signal: leave.signal });
    print(options, sent, `${sent.session} took it (${sent.characters} characters).`);
    return 0;
  } finally {
    process.off('SIGINT', onInterrupt);
    await reeve.close();
  }
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Buffer));
  return Buffer.concat(chunks).toString('utf8');
}
