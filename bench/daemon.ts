/** What the daemon costs, and how soon it tells. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { openStore } from '../src/store/open.ts';
import { readEvents } from '../test/daemon/event-reader.ts';
import { eventually } from '../test/support/processes.ts';
import { openBrowser } from '../test/web/browser.ts';
import { copyWithHistory, startLive } from './history.ts';
import type { Telling } from './report.ts';
import { compare, inPlace } from './support.ts';
import type { Built, Figure, Place } from './support.ts';

const EVENTS = 300;
const IDLE = 100;
const LIVE = 500;
const REQUESTS = 40;
const FEW = 10;
const PAINTS = 9;
const FIRST_PAINT = `the overview's first useful paint with ${LIVE} sessions to ${FEW}`;
/** The mark that the page sets when rows are on the screen. */
const PAINTED = 'reeve:rows';
/** Long enough for several sweeps, and for what little there is to show. */
const CPU_SECONDS = 30;
/** The collector of a program that was just started has not been through everything yet. */
export const REST_MS = 12_000;

export function measureDaemon(built: Built, tell: Telling): Promise<readonly Figure[]> {
  return inPlace(built, async (place) => {
    await served(built, place, async (daemon) => {
      tell.figure(await lag(place));
      await startLive(place, 0, IDLE);
      await sleep(REST_MS);
      tell.figure(await idleCpu(daemon.pid));
    });
    tell.figure(await listing(built, place));
    await startLive(place, IDLE, LIVE);
    for (const figure of await memory(built, place)) tell.figure(figure);
    await tell.part(FIRST_PAINT, () => firstPaint(built, place));
    return [];
  });
}

interface Served {
  readonly pid: number;
}

export async function served<T>(
  built: Built,
  { env }: Place,
  work: (daemon: Served) => Promise<T>,
): Promise<T> {
  const serve = (...words: string[]) =>
    execFileSync(process.execPath, [built.cli, 'serve', ...words, '--json'], { env, encoding: 'utf8' });
  const daemon = JSON.parse(serve('--detach')) as Served;
  try {
    return await work(daemon);
  } finally {
    serve('stop');
  }
}

/** From before an event is committed to its being parsed by somebody who follows. */
async function lag(place: Place): Promise<Figure> {
  const store = await openStore({ sqlite: join(place.home, 'reeve.db') });
  let seen: () => void = () => {};
  const reader = readEvents(
    () => join(place.home, 'daemon', 'socket'),
    await store.lastSeq(),
    () => seen(),
  );
  await eventually('the reader is connected', () => reader.connections() > 0);
  const tookMs: number[] = [];
  for (let index = 0; index < EVENTS; index += 1) {
    const told = new Promise<void>((resolve) => (seen = resolve));
    const begunAt = performance.now();
    await store.note(
      { sessionId: 's-bench', runId: null, kind: 'bench.noted', actor: 'bench', data: { index } },
      'always',
    );
    await told;
    tookMs.push(performance.now() - begunAt);
  }
  reader.close();
  await store.close();
  tookMs.sort((a, b) => a - b);
  return {
    figure: 'event written to event seen by an SSE client',
    measured: tookMs[EVENTS >> 1] ?? Number.NaN,
    bar: { atMost: 50 },
    unit: 'ms',
    from: `median of ${EVENTS}; 95 of 100 within ${tookMs[Math.floor(EVENTS * 0.95)]?.toFixed(1)} ms`,
  };
}

async function idleCpu(pid: number): Promise<Figure> {
  const [before, begunAt] = [cpuSeconds(pid), performance.now()];
  await sleep(CPU_SECONDS * 1000);
  const [used, tookMs] = [cpuSeconds(pid) - before, performance.now() - begunAt];
  return {
    figure: `the daemon's CPU while ${IDLE} sessions idle`,
    measured: (used / (tookMs / 1000)) * 100,
    bar: { atMost: 0.7 },
    unit: '%',
    from: `${used.toFixed(2)} s of a core in ${(tookMs / 1000).toFixed(0)} s`,
  };
}

/** In the clock ticks of proc_pid_stat(5), a hundred to the second on every Linux that Node runs on. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function listing(built: Built, place: Place): Promise<Figure> {
  const withHistory = await copyWithHistory(place, IDLE);
  return served(built, place, () =>
    served(built, withHistory, async () => {
      const list = (of: Place) => () => getMs(of, '/v1/sessions');
      for (const of of [place, withHistory]) for (let index = 0; index < 5; index += 1) await list(of)();
      const { subject, baseline, ratio } = await compare(REQUESTS, list(withHistory), list(place));
      return {
        figure: `GET /v1/sessions of ${IDLE} live with 10000 ended to none ended`,
        measured: ratio,
        bar: { atMost: 1.5 },
        unit: 'ratio',
        from: `medians of ${REQUESTS}: ${subject.toFixed(1)} ms to ${baseline.toFixed(1)} ms`,
      };
    }),
  );
}

function getMs(place: Place, path: string): Promise<number> {
  const begunAt = performance.now();
  return new Promise((resolve, reject) => {
    request({ socketPath: join(place.home, 'daemon', 'socket'), path }, (response) => {
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(performance.now() - begunAt)
          : reject(new Error(`GET ${path} was answered with ${response.statusCode}.`)),
      );
      response.resume();
    })
      .on('error', reject)
      .end();
  });
}

/** Each by a daemon of its own, after it has looked at all of them, so that one does not keep what the other needed. */
async function memory(built: Built, place: Place): Promise<readonly Figure[]> {
  const home = join(place.root, 'state-without-sessions');
  const none = await memoryMb(built, { ...place, home, env: { ...place.env, REEVE_HOME: home } });
  const many = await memoryMb(built, place);
  return [
    {
      figure: "the daemon's memory with no session",
      measured: none,
      bar: { atMost: 90 },
      unit: 'MB',
      from: 'resident, some seconds after a look at the list',
    },
    {
      figure: `what each of ${LIVE} live sessions adds to it`,
      measured: (many - none) / LIVE,
      bar: { atMost: 0.1 },
      unit: 'MB',
      from: `${many.toFixed(1)} MB with them`,
    },
  ];
}

function memoryMb(built: Built, place: Place): Promise<number> {
  return served(built, place, async ({ pid }) => {
    await getMs(place, '/v1/sessions');
    await sleep(REST_MS);
    return residentMb(pid);
  });
}

/** Counted in full, although other programs of Node share a good half of it. */
function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  if (kilobytes === undefined) throw new Error(`The memory of process ${pid} cannot be read.`);
  return (Number(kilobytes) * 1024) / 1e6;
}

/** From the beginning of the navigation to the first rows, each time in a browser profile that has nothing of it. */
async function firstPaint(built: Built, crowded: Place): Promise<Figure> {
  const browser = await openBrowser();
  try {
    return await inPlace(built, async (place) => {
      await startLive(place, 0, FEW);
      return served(built, place, () =>
        served(built, crowded, async () => {
          const paint = (of: Place) => () => paintMs(built, browser, of);
          for (const of of [place, crowded]) await paint(of)();
          const { subject, baseline, ratio } = await compare(PAINTS, paint(crowded), paint(place));
          return {
            figure: FIRST_PAINT,
            measured: ratio,
            bar: { atMost: 2 },
            unit: 'ratio',
            from: `medians of ${PAINTS}: ${subject.toFixed(0)} ms to ${baseline.toFixed(0)} ms`,
          };
        }),
      );
    });
  } finally {
    await browser.close();
  }
}

async function paintMs(built: Built, browser: Browser, { env }: Place): Promise<number> {
  const opened = execFileSync(process.execPath, [built.cli, 'open', '--json'], { env, encoding: 'utf8' });
  const { url } = JSON.parse(opened) as { url: string };
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.locator('.row').first().waitFor();
    // The link led there by a redirect, which is not the overview's.
    await page.reload();
    // Asked again and again from outside: the page's policy forbids what waits for an expression inside of it.
    return await eventually('the overview is painted', () =>
      page.evaluate((name) => performance.getEntriesByName(name)[0]?.startTime, PAINTED),
    );
  } finally {
    await context.close();
  }
}
