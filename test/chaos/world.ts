/** What the chaos run knows: its state directory, its launches, and what every process of the machine shows of them. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { see } from '../support/processes.ts';
import type { Seen } from '../support/processes.ts';

export const CLI = fileURLToPath(new URL('../../dist/reeve.cjs', import.meta.url));
export const MISBEHAVE = fileURLToPath(new URL('../fixtures/misbehave.pl', import.meta.url));

/** More than anybody reads; a run of hours does many times that. */
const MAX_HISTORY = 1000;

export interface Tagged extends Seen {
  readonly tag: string;
}

export interface World {
  readonly directory: string;
  readonly home: string;
  readonly store: Store;
  readonly env: Record<string, string>;
  /** Begins every tag of this run, so that nothing else on the machine is ever looked at. */
  readonly prefix: string;
  /** Which session a launch was for, by its tag. */
  readonly sessionOf: Map<string, string>;
  /** Whose keeper was killed, or told to kill itself, by their tags: nobody else may be lost. */
  readonly keeperKilled: Set<string>;
  /** What was done, latest last, for the story of a violation. */
  readonly history: string[];
  /** Of what, how many times a SIGKILL was seen to hit. One by which a keeper or a finaliser ended itself is not seen. */
  readonly kills: Map<string, number>;
  log(text: string): void;
  countKill(what: string): void;
  dispose(): Promise<void>;
}

export async function createWorld(seed: number, containment: string): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'reeve-chaos-'));
  const home = join(directory, 'state');
  const { openReeve } = await import('../../src/supervisor/reeve.ts');
  await (await openReeve({ home })).close();
  const store = await openStore({ sqlite: join(home, 'reeve.db') });
  const history: string[] = [];
  const kills = new Map<string, number>();
  const startedMs = Date.now();
  return {
    directory,
    home,
    store,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: directory,
      REEVE_HOME: home,
      REEVE_CONTAINMENT: containment,
    },
    prefix: `chaos-${seed}-${process.pid}-`,
    sessionOf: new Map(),
    keeperKilled: new Set(),
    history,
    kills,
    log: (text) => {
      history.push(`${String(Date.now() - startedMs).padStart(6)} ms  ${text}`);
      if (history.length > MAX_HISTORY) history.splice(0, MAX_HISTORY / 2);
    },
    countKill: (what) => kills.set(what, (kills.get(what) ?? 0) + 1),
    dispose: async () => {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Every living process that carries a tag of this world. */
export function taggedProcesses(world: World): Tagged[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0');
        // Only the misbehaving commands themselves: a keeper's launcher has the tag among its arguments too.
        if (words[1] !== MISBEHAVE) return [];
        const tag = words.find((word) => word.startsWith(world.prefix));
        return tag === undefined ? [] : [{ ...see(Number(name)), tag }];
      } catch {
        return [];
      }
    });
}
