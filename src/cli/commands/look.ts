/** The commands that only look: `ls`, `show`, `why`, `logs`, `attach`, `paths`. */
import { hostname } from 'node:os';
import { withReeve } from '../with-reeve.ts';
import { bold, dim, magenta, red, yellow } from '../render/style.ts';
import type { Paint } from '../render/line.ts';
import { hostWords, soFar } from '../../api/budget-words.ts';
import { ReeveError } from '../../api/errors.ts';
import type { BudgetView } from '../../api/http-views.ts';
import type { RunView, SessionView } from '../../api/session-view.ts';
import type { SessionSpentView } from '../../api/usage-view.ts';
import { amount } from '../../lifecycle/budget-words.ts';
import { hostName } from '../../lifecycle/reach.ts';
import { isWithheld } from '../../supervisor/context.ts';
import { checkStoreAddress } from '../../supervisor/environment-check.ts';
import { homeFrom } from '../../supervisor/home.ts';
import type { Range, SessionDetail } from '../../supervisor/list.ts';
import { viewStory } from '../../supervisor/view.ts';
import type { Reeve } from '../../supervisor/reeve.ts';
import { followLog } from '../follow.ts';
import { joinPane } from '../pane.ts';
import { logText } from '../log-text.ts';
import { linesOf, outputWidth, printLines, say } from '../output.ts';
import type { OutputOptions } from '../output.ts';
import { inLine } from '../printable.ts';
import { coloured, renderSessions, statusMark } from '../render/sessions.ts';
import { age, clock, mutedWords } from '../../api/time-words.ts';
import { renderChildren } from '../render/children.ts';
import { shortCount, spentWords } from '../../api/token-words.ts';
import { wrapped } from '../render/wrap.ts';

export async function ls(options: OutputOptions & { all?: boolean; live?: boolean }): Promise<number> {
  return withReeve(async (reeve) => {
    const range: Range = options.all === true ? 'all' : options.live === true ? 'live' : 'recent';
    const sessions = await reeve.list(range);
    if (isWithheld({})) say('the store is withheld from this run; only its own session is shown.');
    printLines(options, sessions, options.json === true ? [] : linesOf(listText(sessions, range)));
    // Of other hosts there is nothing to be settled here.
    const isOfHere = ({ host }: RunView) => hostName(host) === hostname();
    const doubted = sessions.filter(({ run }) => run.liveness === 'unknown' && isOfHere(run)).length;
    if (doubted > 0 && options.json !== true)
      say(`${doubted} could be proven neither alive nor gone. Look once more at each: reeve settle`);
    return 0;
  });
}

function listText(sessions: readonly SessionView[], range: Range): string {
  return range === 'live' && sessions.length === 0
    ? dim('No session is live. See those that have ended: reeve ls --all')
    : renderSessions(sessions, Date.now(), outputWidth());
}

export async function show(reference: string, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const detail = await reeve.show(reference);
    const spent = await reeve.spent(detail.id);
    const text =
      options.json === true
        ? []
        : renderDetail(detail, spent, await budgetRows(reeve, detail.id), Date.now());
    printLines(options, { ...detail, spent }, text);
    return 0;
  });
}

type FactRow = [name: string, value: string];

const BUDGET_PAINTS: Readonly<Record<BudgetView['state'], Paint>> = {
  within: (text) => text,
  warn: yellow,
  over: red,
  unknown: magenta,
};

/** A configuration that cannot be used is no reason to show nothing. */
async function budgetRows(reeve: Reeve, id: string): Promise<FactRow[]> {
  try {
    const [found] = await reeve.budget(id);
    return (found?.budgets ?? []).map((of) => {
      const { kind, spent, limit, scope, state, currency } = of;
      const figures = `${soFar(of, amount(kind, spent, currency))} of ${amount(kind, limit, currency)} (${scope})`;
      return ['budget', BUDGET_PAINTS[state](`${figures}${hostWords(of)}`)];
    });
  } catch (error) {
    if (!(error instanceof ReeveError) || error.code !== 'bad_config') throw error;
    return [['budget', `not known: ${error.message}`]];
  }
}

function renderDetail(
  detail: SessionDetail,
  spent: SessionSpentView | null,
  budgets: readonly FactRow[],
  nowMs: number,
): string[] {
  const { run } = detail;
  const rows: FactRow[] = [
    ['session', `${bold(detail.name)} ${dim(detail.id)}`],
    ['status', `${statusMark(detail.status)} ${coloured(detail.status)}${sinceOf(detail, nowMs)}`],
    ['command', inLine(detail.argv.join(' '))],
    ['directory', inLine(detail.cwd)],
    ['run', `${run.id}, epoch ${run.epoch}, ${run.mode}`],
    ['process', processOf(run)],
    ['log', run.logPath === null ? 'none: it writes to its own terminal' : inLine(run.logPath)],
  ];
  if (detail.nativeId !== null) rows.splice(2, 0, ['serves', `${detail.harness} ${detail.nativeId}`]);
  if (run.parent !== null) rows.push(['child of', `run ${run.parent}`]);
  rows.push(...budgets);
  if (detail.mute !== null) rows.push(['notify', mutedWords(detail.mute)]);
  if (run.reason !== null) rows.push(['reason', inLine(run.reason)]);
  if (spent !== null) rows.push(...spentRows(spent));
  if (detail.doubt !== null) rows.push(['doubt', inLine(detail.doubt)]);
  if (run.liveness === 'unknown') rows.push(['', `look once more: reeve settle ${detail.name}`]);
  const facts = rows.map(([name, value]) => `${dim(name.padEnd(10))} ${value}`);
  const earlier = detail.runs
    .slice(0, -1)
    .map(
      (each) =>
        `  ${each.epoch}  ${each.id}  ${each.outcome ?? each.state}  ${dim(inLine(each.reason ?? ''))}`,
    );
  const children =
    detail.children.length === 0
      ? []
      : [dim('children'), ...linesOf(renderChildren(detail.children, nowMs, outputWidth()))];
  return [...facts, ...(earlier.length === 0 ? [] : [dim('earlier'), ...earlier]), ...children];
}

function spentRows(spent: SessionSpentView): [string, string][] {
  const rows: [string, string][] = [['spent', spentWords(spent, spent.currency)]];
  if (spent.late > 0)
    rows.push(['', yellow(`of that ${shortCount(spent.late)} after it was superseded, or was over`)]);
  return rows;
}

function sinceOf({ run, activity }: SessionDetail, nowMs: number): string {
  const long = age(Date.parse(activity?.since ?? run.endedAt ?? run.startedAt), nowMs);
  const since = dim(run.state === 'ended' ? ` ${long} ago` : ` for ${long}`);
  if (activity === null) return since;
  const want = activity.waitingFor === null ? '' : `: ${inLine(activity.waitingFor)}`;
  return `${want}${since}${dim(`, says ${inLine(activity.evidence)}`)}`;
}

function processOf(run: RunView): string {
  if (run.state === 'ended') {
    return run.signal !== null
      ? `ended by ${run.signal}`
      : run.exitCode === null
        ? 'ended'
        : `exit code ${run.exitCode}`;
  }
  return `pid ${run.pid ?? 'not known yet'}, keeper ${run.keeperPid ?? 'not yet'}, ${run.liveness}, held by ${run.containment ?? 'nothing yet'}`;
}

export async function why(reference: string, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const story = await reeve.why(reference);
    const told = (atMs: number, text: string) => {
      const head = `${clock(atMs)}  `;
      return linesOf(wrapped(dim(head), head.length, inLine(text), outputWidth()));
    };
    const lines = story.sentences.flatMap(({ atMs, text }) => told(atMs, text));
    if (story.doubt !== null)
      lines.push(
        ...told(
          Date.now(),
          `Not known now: ${story.doubt}. Look once more: reeve settle ${story.session.name}`,
        ),
      );
    printLines(options, viewStory(story), lines);
    return 0;
  });
}

export async function logs(
  reference: string,
  options: OutputOptions & { follow?: boolean; lines?: number; screen?: boolean; raw?: boolean },
): Promise<number> {
  return withReeve(async (reeve) => {
    if (options.screen === true) {
      const text = await reeve.screen(reference, options.lines ?? 0);
      if (options.json === true) printLines(options, { screen: text }, []);
      else
        process.stdout.write(
          `${(process.stdout.isTTY && options.raw !== true ? logText(text) : text).trimEnd()}\n`,
        );
      return 0;
    }
    if (options.json === true && options.follow === true) {
      throw new ReeveError('usage', 'A log that is followed has no end, so it is no JSON value.', {
        hint: 'Leave out --follow or --json.',
      });
    }
    if (options.json !== true) {
      const { follow = false, lines, raw } = options;
      await followLog(reeve, reference, { follow, lines, raw });
      return 0;
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of reeve.logs(reference, { lines: options.lines })) chunks.push(chunk);
    const { run } = await reeve.show(reference);
    printLines(
      options,
      { run: run.id, logPath: run.logPath, text: Buffer.concat(chunks).toString('utf8') },
      [],
    );
    return 0;
  });
}

export async function attach(reference: string, options: OutputOptions): Promise<number> {
  return withReeve(async (reeve) => {
    const { name, status, run } = await reeve.show(reference);
    if (run.state === 'ended') {
      throw new ReeveError('not_found', `${name} has no live run to attach to: it is ${status}.`, {
        hint: `Read its log with \`reeve logs ${name}\`, or start it again with \`reeve resume ${name}\`.`,
      });
    }
    if (run.mode === 'tmux' && options.json !== true) return joinPane(reeve, name);
    const attached = await reeve.hasLog(run.id);
    if (options.json === true) {
      printLines(options, { attached, session: name, run }, []);
      return 0;
    }
    say(`following ${name} (run ${run.id}). Ctrl-C leaves it running.`);
    await followLog(reeve, reference, { follow: true, lines: 20 });
    return 0;
  });
}

export async function paths(options: OutputOptions): Promise<number> {
  await checkStoreAddress(process.env);
  const { path, database, runs } = homeFrom(process.env);
  const named = process.env['REEVE_STORE'] === undefined ? database : 'the PostgreSQL named by REEVE_STORE';
  const store = isWithheld({}) ? 'withheld from this run' : named;
  printLines(options, { home: path, store, runs }, [`home   ${path}`, `store  ${store}`, `runs   ${runs}`]);
  return 0;
}
