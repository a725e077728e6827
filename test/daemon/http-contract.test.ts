/** The API against its own documentation: every operation is called, and answers as it is documented. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/api/errors.ts';
import type { ErrorCode } from '../../src/api/errors.ts';
import type { SessionView } from '../../src/api/session-view.ts';
import { VERBS } from '../../src/cli/verbs.ts';
import { installStandIns } from '../fixtures/stand-in-harness.ts';
import type { StandIns } from '../fixtures/stand-in-harness.ts';
import { installStandInTui, openPanes } from '../fixtures/stand-in-tui.ts';
import type { Panes } from '../fixtures/stand-in-tui.ts';
import { insideRun } from '../support/credentials.ts';
import type { Insider } from '../support/credentials.ts';
import { launchIn } from '../support/launch.ts';
import { eventually } from '../support/processes.ts';
import { CLI, createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';
import { partCalls } from './part-calls.ts';
import type { Call } from './review-calls.ts';
import type { Document } from './document.ts';
import { openDaemon } from './support.ts';
import type { Answer, Daemon, Failure } from './support.ts';

let sandbox: Sandbox;
let panes: Panes;
let daemon: Daemon;
let document: Document;
/** A second one, for a harness that somebody started without Reeve. */
let outside: { sandbox: Sandbox; standIns: StandIns; daemon: Daemon };
beforeAll(async () => {
  sandbox = createSandbox();
  panes = openPanes(sandbox);
  installStandInTui(sandbox);
  daemon = await openDaemon(sandbox);
  document = (await daemon.ask('GET', '/openapi.json')).json<Document>();
  const other = createSandbox();
  const standIns = installStandIns(other, 'claude');
  outside = { sandbox: other, standIns, daemon: await openDaemon(other) };
  await launchIn(sandbox, 'live', 'sh', '-c', 'echo one; echo two; exec sleep 600');
  await eventually('it has written', async () =>
    (await sandbox.reeve(['logs', 'live'])).stdout.includes('two'),
  );
  await sandbox.reeve(['run', '-s', 'foreground', '--', 'true']);
  await launchIn(sandbox, 'epochs', 'sleep', '60');
  await sandbox.json(['run', '--detach', '--on-live', 'retire', '-s', 'epochs', '--', 'sh', '-c', 'exit 3']);
  await eventually('it has ended', async () => (await sandbox.show('epochs')).run.state === 'ended');
  await sandbox.json(['run', '--tmux', '--detach', '-s', 'talk', '--', 'claude']);
  await eventually('it is idle', async () => (await sandbox.show('talk')).status === 'idle');
});
afterAll(async () => {
  await outside.daemon.stop();
  await outside.sandbox.cleanUp();
  outside.standIns.endOutsiders();
  await daemon.stop();
  await panes.cleanUp();
});

const get = (path: string) => daemon.ask('GET', path);
const post = (path: string, body: unknown = {}) => daemon.ask('POST', path, { body });
/** For what cannot be asked wrongly. */
const unknown = (path: string) =>
  daemon.ask('GET', path, { via: 'loopback', headers: { authorization: null } });
const started = async (name: string, ...flags: readonly string[]) =>
  sandbox.json<SessionView>(['run', '--detach', ...flags, '-s', name, '--', 'sleep', '60']);

/** As a run of its own, with its token. */
const asRun = async (path: string, body: unknown) => {
  reporting ??= insideRun(sandbox, 'reporting');
  const { env } = await reporting;
  const authorization = `Bearer ${env.REEVE_RUN}.${env.REEVE_TOKEN}`;
  return daemon.ask('POST', path, { body, headers: { authorization } });
};
let reporting: Promise<Insider> | undefined;
const CALLS: Readonly<Record<string, Call>> = {
  run: {
    good: () => post('/v1/run', { argv: ['sleep', '60'], session: 'ran', cwd: sandbox.root }),
    bad: () => post('/v1/run', { argv: ['sleep', '60'], session: 'live', cwd: sandbox.root }),
    code: 'live_owner',
  },
  resume: {
    good: () => post('/v1/sessions/epochs/resume', { argv: ['true'] }),
    bad: () => post('/v1/sessions/none/resume', {}),
    code: 'not_found',
  },
  stop: {
    good: async () => (await started('to-stop'), post('/v1/sessions/to-stop/stop', { graceSeconds: 1 })),
    bad: () => post('/v1/sessions/none/stop'),
    code: 'not_found',
  },
  kill: {
    good: async () => (await started('to-kill'), post('/v1/sessions/to-kill/kill')),
    bad: () => post('/v1/sessions/live/kill', { graceSeconds: 1 }),
    code: 'usage',
  },
  retire: {
    good: async () => (
      await started('to-retire'),
      post('/v1/sessions/to-retire/retire', { graceSeconds: 0 })
    ),
    bad: () => post('/v1/sessions/none/retire'),
    code: 'not_found',
  },
  rm: {
    good: async () => (
      await sandbox.reeve(['run', '-s', 'gone', '--', 'true']),
      daemon.ask('DELETE', '/v1/sessions/gone')
    ),
    bad: () => daemon.ask('DELETE', '/v1/sessions/live'),
    code: 'live_owner',
  },
  budget: {
    good: () => get('/v1/budget?session=live'),
    bad: () => get('/v1/budget?session=none'),
    code: 'not_found',
  },
  budgetSet: {
    good: () => post('/v1/sessions/live/budget', { tokens: 5_000_000, onExceeded: 'ask' }),
    bad: () => post('/v1/sessions/live/budget', { tokens: 0 }),
    code: 'usage',
  },
  send: {
    good: () => post('/v1/sessions/talk/send', { text: 'hello' }),
    bad: () => post('/v1/sessions/live/send', { text: 'hello' }),
    code: 'usage',
  },
  attach: {
    good: () => post('/v1/sessions/talk/attach'),
    bad: () => post('/v1/sessions/foreground/attach'),
    code: 'not_found',
  },
  childRun: {
    good: () =>
      post('/v1/sessions/live/children', { argv: ['sleep', '60'], session: 'its-child', cwd: sandbox.root }),
    bad: () => post('/v1/sessions/none/children', { argv: ['true'], cwd: '/' }),
    code: 'not_found',
  },
  childLs: {
    good: () => get('/v1/children'),
    bad: () => get('/v1/children?session=none'),
    code: 'not_found',
  },
  heartbeat: {
    good: () => asRun('/v1/heartbeat', {}),
    bad: () => daemon.ask('POST', '/v1/heartbeat', { body: {}, headers: { authorization: 'Bearer r-x.y' } }),
    code: 'fenced',
  },
  submit: {
    good: async () => asRun('/v1/submit', { data: 'found', key: 'k' }),
    bad: async () => asRun('/v1/submit', { data: 'other', key: 'k' }),
    code: 'conflict',
  },
  usageAdd: {
    good: async () => asRun('/v1/usage/add', { model: 'm', input: 1, key: 'k' }),
    bad: async () => asRun('/v1/usage/add', { model: 'm', input: 0.5 }),
    code: 'usage',
  },
  submitLs: {
    good: async () => (await asRun('/v1/submit', { data: 'listed' }), get('/v1/submissions?refused=false')),
    bad: () => get('/v1/submissions?session=none'),
    code: 'not_found',
  },
  submitShow: {
    good: async () => {
      const { id } = (await asRun('/v1/submit', { data: 'shown' })).json<{ id: string }>();
      return get(`/v1/submissions/${id}`);
    },
    bad: () => get('/v1/submissions/none'),
    code: 'not_found',
  },
  ls: {
    good: () => get('/v1/sessions?range=all'),
    bad: () => get('/v1/sessions?range=some'),
    code: 'usage',
  },
  show: { good: () => get('/v1/sessions/epochs'), bad: () => get('/v1/sessions/s-'), code: 'ambiguous' },
  runs: {
    good: () => get('/v1/sessions/epochs/runs'),
    bad: () => get('/v1/sessions/none/runs'),
    code: 'not_found',
  },
  why: {
    good: () => get('/v1/sessions/epochs/why'),
    bad: () => get('/v1/sessions/none/why'),
    code: 'not_found',
  },
  usage: {
    good: () => get('/v1/usage?session=epochs&tree=true&since=7d'),
    bad: () => get('/v1/usage?since=yesterday'),
    code: 'usage',
  },
  tree: {
    good: () => get('/v1/sessions/live/tree'),
    bad: () => get('/v1/sessions/none/tree'),
    code: 'not_found',
  },
  sessionEvents: {
    good: () => get('/v1/sessions/epochs/events?limit=2'),
    bad: () => get('/v1/sessions/live/events?limit=1001'),
    code: 'usage',
  },
  events: { good: () => get('/v1/events?after=0'), bad: () => get('/v1/events?after=-1'), code: 'usage' },
  logs: {
    good: () => get('/v1/sessions/live/logs?lines=1'),
    bad: () => get('/v1/sessions/foreground/logs'),
    code: 'no_log',
  },
  screen: {
    good: () => get('/v1/sessions/talk/screen'),
    bad: () => get('/v1/sessions/live/screen'),
    code: 'usage',
  },
  ...partCalls(() => ({ daemon, sandbox })),
  daemon: { good: () => get('/v1/daemon'), bad: () => unknown('/v1/daemon'), code: 'unauthorised' },
  doctor: { good: () => get('/v1/doctor'), bad: () => unknown('/v1/doctor'), code: 'unauthorised' },
  paths: { good: () => get('/v1/paths'), bad: () => unknown('/v1/paths'), code: 'unauthorised' },
  scan: { good: () => get('/v1/scan'), bad: () => unknown('/v1/scan'), code: 'unauthorised' },
  adopt: {
    good: async () => {
      const { pid } = await outside.standIns.outsider('claude', ['--resume', randomUUID()]);
      return outside.daemon.ask('POST', '/v1/adopt', { body: { pid, session: 'adopted' } });
    },
    bad: () => post('/v1/adopt', { pid: 2 ** 30 }),
    code: 'not_found',
  },
  hooksStatus: { good: () => get('/v1/hooks'), bad: () => unknown('/v1/hooks'), code: 'unauthorised' },
  hooksInstall: {
    good: () => post('/v1/hooks/install', { harnesses: ['claude', 'gemini'] }),
    bad: () => post('/v1/hooks/install', { harnesses: [] }),
    code: 'usage',
  },
  hooksRemove: {
    good: () => post('/v1/hooks/remove', { harnesses: ['claude', 'gemini'] }),
    bad: () => post('/v1/hooks/remove', { harnesses: ['none'] }),
    code: 'usage',
  },
  shimStatus: { good: () => get('/v1/shim'), bad: () => unknown('/v1/shim'), code: 'unauthorised' },
  shimInstall: {
    good: () => post('/v1/shim/install', { harnesses: ['claude'] }),
    bad: () => post('/v1/shim/install', { harnesses: ['none'] }),
    code: 'usage',
  },
  shimRemove: {
    good: () => post('/v1/shim/remove', { harnesses: ['claude'] }),
    bad: () => post('/v1/shim/remove', {}),
    code: 'usage',
  },
};

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );

/** The documented schema of an answer, taken from the document itself. */
function documented(name: string, status: '200' | 'default'): ValidateFunction {
  const { path, method } = operations().find(({ operationId }) => operationId === name) ?? {
    path: '',
    method: '',
  };
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  const steps = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema'];
  const pointer = steps
    .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  return ajv.compile({ $ref: `openapi#/${pointer}` });
}

describe('the document', () => {
  it('is OpenAPI 3.1, and every operation in it is called here', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(
      operations()
        .map(({ operationId }) => operationId)
        .toSorted(),
    ).toEqual(Object.keys(CALLS).toSorted());
  });

  it('has an operation for every verb of the command line', () => {
    const exempt = new Set([
      'demo', // A show, on a state directory of its own.
      'completion', // For a shell.
      'serve', // The daemon itself, which `uninstall` ends.
      'open', // Opens the page of the daemon in a browser.
      'top', // A picture for a terminal.
      'review watch', // A program in the foreground, that asks for what `reviewTrigger` does.
    ]);
    const wanted = VERBS.filter(({ name }) => !exempt.has(name) && name !== 'uninstall').flatMap((verb) => {
      const name = verb.name.replace(/ (\w)/, (_, letter: string) => letter.toUpperCase());
      const actions = verb.arguments[0]?.choices;
      if (actions === undefined) return [name];
      return actions.map((action) => `${name}${action.charAt(0).toUpperCase()}${action.slice(1)}`);
    });
    expect(wanted.filter((name) => !(name in CALLS))).toEqual([]);
  });

  it('is made for a reader without a network: the page about it loads nothing', async () => {
    const { text } = await get('/docs');
    for (const { path, operationId } of operations()) {
      expect(text).toContain(path);
      expect(text).toContain(operationId);
    }
    expect(text).not.toMatch(
      /<(script|img|iframe|object|embed)\b|@import|url\(|\bsrc=|\bon\w+=|href="(?![/#])/i,
    );
    const targets = [...text.matchAll(/href="([^"#][^"]*)"/g)].map(([, target]) => target);
    expect(targets).toEqual(['/docs.css', '/openapi.json']);
  });

  it('describes no answer so loosely that anything would pass', () => {
    const loose = operations()
      .map(({ operationId }) => operationId)
      .filter((name) => documented(name, '200')({ unheard: 'of' }));
    expect(loose).toEqual([]);
    expect(documented('show', 'default')({ error: 'text' })).toBe(false);
  });
});

describe.each(Object.entries(CALLS))('%s', (name, { good, bad, code }) => {
  it('answers as it is documented', async () => {
    const answer = await good();
    const validate = documented(name, '200');
    validate(answer.json<unknown>());
    expect({ status: answer.status, errors: validate.errors, type: answer.headers['content-type'] }).toEqual({
      status: 200,
      errors: null,
      type: 'application/json',
    });
  });

  it(`fails as it is documented: ${code}`, async () => {
    const answer = await bad();
    const validate = documented(name, 'default');
    validate(answer.json<unknown>());
    expect({ status: answer.status, code: answer.json().error.code, errors: validate.errors }).toEqual({
      status: ERRORS[code].httpStatus,
      code,
      errors: null,
    });
  });
});

describe('the same mistake has the same code as on the command line', () => {
  const body = (more: object) => ({ argv: ['sleep', '60'], cwd: sandbox.root, session: 'x', ...more });
  const earlier = async () => (await sandbox.show('epochs')).runs[0]?.id ?? '';
  const cases: readonly [
    ErrorCode,
    string,
    () => Promise<Answer>,
    () => Promise<readonly string[]> | readonly string[],
  ][] = [
    ['not_found', 'show of none', () => get('/v1/sessions/none'), () => ['show', 'none']],
    ['not_found', 'why of none', () => get('/v1/sessions/none/why'), () => ['why', 'none']],
    ['not_found', 'rm of none', () => daemon.ask('DELETE', '/v1/sessions/none'), () => ['rm', 'none']],
    [
      'not_found',
      'attach to an ended one',
      () => post('/v1/sessions/foreground/attach'),
      () => ['attach', 'foreground'],
    ],
    [
      'not_found',
      'send to none',
      () => post('/v1/sessions/none/send', { text: 'x' }),
      () => ['send', 'none', 'x'],
    ],
    [
      'not_found',
      'adopt of nothing',
      () => post('/v1/adopt', { pid: 2 ** 30 }),
      () => ['adopt', String(2 ** 30)],
    ],
    ['not_found', 'usage of none', () => get('/v1/usage?session=none'), () => ['usage', 'none']],
    ['usage', 'a tree of all', () => get('/v1/usage?tree=true'), () => ['usage', '--tree']],
    ['usage', 'usage by none', () => get('/v1/usage?by=colour'), () => ['usage', '--by', 'colour']],
    ['ambiguous', 'an id that fits several', () => get('/v1/sessions/s-'), () => ['show', 's-']],
    [
      'live_owner',
      'run of a live one',
      () => post('/v1/run', body({ session: 'live' })),
      () => ['run', '--detach', '-s', 'live', '--', 'true'],
    ],
    [
      'live_owner',
      'resume of a live one',
      () => post('/v1/sessions/live/resume'),
      () => ['resume', '--detach', 'live'],
    ],
    ['live_owner', 'rm of a live one', () => daemon.ask('DELETE', '/v1/sessions/live'), () => ['rm', 'live']],
    [
      'bad_name',
      'a name that is none',
      () => post('/v1/run', body({ session: '.x' })),
      () => ['run', '--detach', '-s', '.x', '--', 'true'],
    ],
    [
      'bad_name',
      'a name that is too long',
      () => post('/v1/run', body({ session: 'x'.repeat(101) })),
      () => ['run', '--detach', '-s', 'x'.repeat(101), '--', 'true'],
    ],
    [
      'bad_directory',
      'a directory that is none',
      () => post('/v1/run', body({ cwd: '/none' })),
      () => ['run', '--detach', '--cwd', '/none', '-s', 'x', '--', 'true'],
    ],
    ['usage', 'no command', () => post('/v1/run', body({ argv: [] })), () => ['run', '--detach', '-s', 'x']],
    [
      'usage',
      'a grace that is none',
      () => post('/v1/sessions/live/stop', { graceSeconds: -1 }),
      () => ['stop', '--grace', '-1', 'live'],
    ],
    [
      'usage',
      'the screen of one without',
      () => get('/v1/sessions/live/screen'),
      () => ['logs', '--screen', 'live'],
    ],
    ['usage', 'a heartbeat from outside', () => post('/v1/heartbeat'), () => ['heartbeat']],
    [
      'usage',
      'a submission from outside',
      () => post('/v1/submit', { data: 'x' }),
      () => ['submit', '--data', CLI],
    ],
    [
      'no_log',
      'the log of one without',
      () => get('/v1/sessions/foreground/logs'),
      () => ['logs', 'foreground'],
    ],
    [
      'fenced',
      'an act on an earlier run',
      async () => post(`/v1/sessions/${await earlier()}/stop`),
      async () => ['stop', await earlier()],
    ],
    [
      'never_started',
      'a program that is none',
      () => post('/v1/run', body({ argv: ['no-such'], session: 'n1' })),
      () => ['run', '--detach', '-s', 'n2', '--', 'no-such'],
    ],
  ];
  it.each(cases)('%s: %s', async (code, _, ask, words) => {
    const answer = await ask();
    const { error } = await sandbox.json<Failure>(await words(), ERRORS[code].exitCode);
    expect({ http: answer.json().error.code, status: answer.status, cli: error.code }).toEqual({
      http: code,
      status: ERRORS[code].httpStatus,
      cli: code,
    });
  });

  it('busy: a message for one that works', async () => {
    if ((await sandbox.show('talk')).status === 'idle')
      await post('/v1/sessions/talk/send', { text: 'something to do' });
    const answer = await post('/v1/sessions/talk/send', { text: 'more' });
    const { error } = await sandbox.json<Failure>(['send', 'talk', 'more'], ERRORS.busy.exitCode);
    expect([answer.status, answer.json().error.code, error.code]).toEqual([409, 'busy', 'busy']);
  });

  it('bad_settings: a harness’s own file that cannot be read', async () => {
    mkdirSync(sandbox.path('.claude'), { recursive: true });
    writeFileSync(sandbox.path('.claude/settings.json'), '{ broken');
    const answer = await post('/v1/hooks/install', { harnesses: ['claude'] });
    const { error } = await sandbox.json<Failure>(
      ['hooks', 'install', 'claude'],
      ERRORS.bad_settings.exitCode,
    );
    expect([answer.status, answer.json().error.code, error.code]).toEqual([
      422,
      'bad_settings',
      'bad_settings',
    ]);
    rmSync(sandbox.path('.claude/settings.json'));
  });
});

it('a session whose name is of another alphabet is found by it', async () => {
  const name = 'größe-日本:+@.x';
  const { status } = await post('/v1/run', { argv: ['sleep', '60'], session: name, cwd: sandbox.root });
  expect(status).toBe(200);
  const shown = (await get(`/v1/sessions/${encodeURIComponent(name)}`)).json<SessionView>();
  expect(shown.name).toBe(name);
  const { command } = (await post(`/v1/sessions/${encodeURIComponent(name)}/attach`)).json<{
    command: string;
  }>();
  expect(command).toBe(`REEVE_HOME=${sandbox.home} reeve attach '${name}'`);
});
