/** One of several processes that write side by side, for as long as they are told: claims, or the same rows bare. */
import pg from 'pg';
import { openStore } from '../src/store/open.ts';
import { claimRequest } from './record.ts';

const [url = '', writer = ''] = process.argv.slice(2);
const store = await openStore({ postgres: url });
const client = new pg.Client({ connectionString: url, options: '-c search_path=reeve' });
await client.connect();
let count = 0;

process.on('message', ({ what, forMs }: { what: 'claim' | 'bare'; forMs: number }) => {
  void repeat(what === 'claim' ? claim : insert, forMs).then((perSecond) => process.send?.({ perSecond }));
});
process.on('disconnect', () => void Promise.all([store.close(), client.end()]));
process.send?.('ready');

async function repeat(write: (name: string) => Promise<void>, forMs: number): Promise<number> {
  const begunAt = performance.now();
  let [done, tookMs] = [0, 0];
  for (; tookMs < forMs; tookMs = performance.now() - begunAt) {
    await write(`${writer}-${(count += 1)}`);
    done += 1;
  }
  return (done / tookMs) * 1000;
}

async function claim(name: string): Promise<void> {
  const { won } = await store.claim(claimRequest(name));
  if (!won) throw new Error('A claim of a new session was lost.');
}

/** What a claim leaves behind. */
async function insert(name: string): Promise<void> {
  const { sessionId, runId, cwd, argv, actor, launcher, tokenHash, logPath } = claimRequest(name);
  const [words, who, at] = [JSON.stringify(argv), JSON.stringify(launcher), Date.now()];
  await client.query('begin');
  await client.query(
    `insert into sessions (id, name, harness, cwd, argv, epoch, current_run_id, created_at)
     values ($1, $2, 'command', $3, $4, 1, $5, $6)`,
    [sessionId, name, cwd, words, runId, at],
  );
  await client.query(
    `insert into runs (id, session_id, epoch, state, mode, argv, cwd, actor, launcher, token_hash, log_path, claimed_at)
     values ($1, $2, 1, 'claimed', 'detached', $3, $4, $5, $6, $7, $8, $9)`,
    [runId, sessionId, words, cwd, actor, who, tokenHash, logPath, at],
  );
  await client.query(
    `insert into events (op, at, session_id, run_id, kind, actor, data)
     values ($1, $2, $3, $4, 'run.claimed', $5, $6)`,
    [name, at, sessionId, runId, actor, JSON.stringify({ epoch: 1, argv, cwd, launcher })],
  );
  await client.query('commit');
}
