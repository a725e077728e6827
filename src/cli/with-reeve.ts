import { openReeve } from '../supervisor/reeve.ts';
import type { Reeve } from '../supervisor/reeve.ts';

/** What a command does with the library, which is closed whatever comes of it. */
export async function withReeve(work: (reeve: Reeve) => Promise<number>): Promise<number> {
  const reeve = await openReeve();
  try {
    return await work(reeve);
  } finally {
    await reeve.close();
  }
}
