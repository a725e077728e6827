import { createHash } from 'node:crypto';

/** By which a prompt that was sent is known again when the harness reports it; the text itself is not kept. */
export function promptDigest(prompt: string): string {
  return createHash('sha256').update(prompt.replaceAll(/\s+/g, ' ').trim()).digest('hex').slice(0, 16);
}
