import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReeveError } from '../../src/api/errors.ts';
import { NOTABLE_STATUSES, TOLD_UNASKED } from '../../src/lifecycle/notification.ts';
import { CONFIG_KEYS } from '../../src/supervisor/config-keys.ts';
import type { ConfigKey } from '../../src/supervisor/config-keys.ts';
import { configPath } from '../../src/supervisor/config-path.ts';
import { readConfig } from '../../src/supervisor/config.ts';
import { parseConfig } from '../../src/supervisor/parse-config.ts';

const DEFAULTS = {
  notify: {
    on: ['needs-input', 'budget', 'failed', 'lost', 'ended'],
    command: null,
    webhook: null,
    webhookHeaders: {},
    webhookTokenEnv: null,
    bell: false,
    desktop: false,
    quiet: null,
    timeoutSeconds: 10,
  },
  prices: { currency: 'USD', models: [] },
  budget: { run: null, session: null, tree: null, day: null, warnAt: 0.8, onExceeded: 'end' },
  review: { reviewer: null },
};

const notify = (line: string) => parseConfig(`[notify]\n${line}\n`);
const problemOf = (text: string) => {
  const parsed = parseConfig(text);
  return parsed.is === 'wrong' ? parsed.problem : 'none';
};

describe('a configuration', () => {
  it('without anything in it has every default', () => {
    expect(parseConfig('')).toEqual({ is: 'read', config: DEFAULTS });
    expect(parseConfig('# nothing\n[notify]\n')).toEqual({ is: 'read', config: DEFAULTS });
  });

  it('has what the file says, and defaults for the rest', () => {
    const parsed = notify('on = ["lost", "failed", "lost"]\ncommand = ["tell", ""]\ntimeout_seconds = 60');
    expect(parsed).toEqual({
      is: 'read',
      config: {
        ...DEFAULTS,
        notify: { ...DEFAULTS.notify, on: ['lost', 'failed'], command: ['tell', ''], timeoutSeconds: 60 },
      },
    });
  });

  it('has quiet hours, also across midnight', () => {
    const parsed = notify('quiet = "22:00-07:00"');
    expect(parsed).toMatchObject({ config: { notify: { quiet: { fromMinute: 1320, toMinute: 420 } } } });
  });

  it('has budgets, each limit of which may be left out', () => {
    const text =
      '[budget]\nrun = { tokens = 2_000_000 }\nday = { cost = 5.5, minutes = 0.5 }\non_exceeded = "ask"';
    expect(parseConfig(`${text}\nwarn_at = 0.5`)).toEqual({
      is: 'read',
      config: {
        ...DEFAULTS,
        budget: {
          ...DEFAULTS.budget,
          run: { tokens: 2_000_000, cost: null, minutes: null },
          day: { tokens: null, cost: 5.5, minutes: 0.5 },
          onExceeded: 'ask',
          warnAt: 0.5,
        },
      },
    });
  });

  it.each([
    ['run = 3', 'budget.run must be a table with any of tokens, cost, minutes, not this number'],
    [
      'run = { tokens = 0 }',
      'budget.run.tokens must be a whole number above 0 and at most 10^15, not this number',
    ],
    [
      'run = { cost = 1, tokens = 1.5 }',
      'budget.run.tokens must be a whole number above 0 and at most 10^15, not this number',
    ],
    ['day = { cost = "5" }', 'budget.day.cost must be a number above 0 and at most 10^15, not this text'],
    [
      'run = { minutes = "x" }',
      'budget.run.minutes must be a number above 0 and at most 10^15, not this text',
    ],
    [
      'run = { minutes = -1 }',
      'budget.run.minutes must be a number above 0 and at most 10^15, not this number',
    ],
    [
      'run = { minutes = inf }',
      'budget.run.minutes must be a number above 0 and at most 10^15, not this number',
    ],
    ['day = { cots = 5 }', 'budget.day has "cots", which is not known; did you mean "cost"?'],
    ['warn_at = 0', 'budget.warn_at must be a number from 0.01 to 1, not this number'],
    ['on_exceeded = "kill"', 'budget.on_exceeded has a value that is none of end, ask'],
    ['on_exceeded = 1', 'budget.on_exceeded must be one of "end", "ask", not this number'],
    ['hour = {}', 'budget.hour is not known'],
  ])('with a budget that is wrong: %s', (line, problem) => {
    expect(problemOf(`[budget]\n${line}\n`)).toBe(problem);
  });

  it.each([
    ['[notify]\nwebhok = "http://x"', 'notify.webhok is not known; did you mean notify.webhook?'],
    [
      '[notify]\nTimeout_second = 3',
      'notify.Timeout_second is not known; did you mean notify.timeout_seconds?',
    ],
    ['[notify]\ncolour = "red"', 'notify.colour is not known'],
    ['[notfiy]\nbell = true', 'notfiy is not known; did you mean notify?'],
    ['webhook = "http://x"', 'webhook is not known; did you mean notify.webhook?'],
    ['[quotas]\n', 'quotas is not known'],
    ['notify = 3', 'notify must be a table, not this number'],
    ['[[notify]]\nbell = true', 'notify must be a table, not this list'],
    ['[__proto__]\nbell = true', '__proto__ is not known'],
    ['[notify]\n__proto__ = true', 'notify.__proto__ is not known'],
    ['[notify]\nconstructor = true', 'notify.constructor is not known'],
    ['[notify]\n"\\u001b[31m" = 1', '"notify.\\u001b[31m" is not known'],
    ['[notify]\non = ["fialed"]', 'notify.on has a value, which is not known; did you mean "failed"?'],
    [
      '[notify]\non = ["cheered"]',
      'notify.on has a value that is none of needs-input, budget, failed, lost, ended, done, idle, review',
    ],
    [
      '[notify]\non = "failed"',
      'notify.on must be a list of "needs-input", "budget", "failed", "lost", "ended", "done", "idle", "review", not this text',
    ],
    [
      '[notify]\non = [1]',
      'notify.on must be a list of "needs-input", "budget", "failed", "lost", "ended", "done", "idle", "review", not this list',
    ],
    [
      '[notify]\nquiet = "22:00"',
      'notify.quiet must be two different times of the day, as in "22:00-07:00", not this text',
    ],
    [
      '[notify]\nquiet = 22:00:00',
      'notify.quiet must be two different times of the day, as in "22:00-07:00", not a date',
    ],
    ['[notify]\nbell = "yes"', 'notify.bell must be true or false, not this text'],
    ['[notify]\nbell = 2026-01-01', 'notify.bell must be true or false, not a date'],
    [
      '[notify]\ntimeout_seconds = 0',
      'notify.timeout_seconds must be a whole number from 1 to 60, not this number',
    ],
    [
      '[notify]\ntimeout_seconds = 61',
      'notify.timeout_seconds must be a whole number from 1 to 60, not this number',
    ],
    [
      '[notify]\ntimeout_seconds = 1.5',
      'notify.timeout_seconds must be a whole number from 1 to 60, not this number',
    ],
    ['[notify]\ncommand = []', 'notify.command must have at least the program'],
    [
      '[notify]\ncommand = [""]',
      'notify.command must be a list of texts: a program and its arguments, not this list',
    ],
    [
      '[notify]\ncommand = "tell me"',
      'notify.command must be a list of texts: a program and its arguments, not this text',
    ],
    [
      '[notify]\ncommand = ["tell", "a\\u0000b"]',
      'notify.command must be a list of texts: a program and its arguments, not this list',
    ],
    ['[notify]\nwebhook = "ftp://x/y"', 'notify.webhook must be an http or https address, not this text'],
    ['[notify]\nwebhook = "x"', 'notify.webhook must be an http or https address, not this text'],
    ['[notify]\nwebhook = ""', 'notify.webhook must be an http or https address, not an empty text'],
    [
      '[notify]\nwebhook_token_env = "$TOKEN"',
      'notify.webhook_token_env must be the name of an environment variable, not this text',
    ],
    [
      '[notify]\nwebhook_headers = { "X-A" = 1 }',
      'notify.webhook_headers.X-A must be a text, not this number',
    ],
    [
      '[notify]\nwebhook_headers = { "X-A" = "a\\r\\nX-B: b" }',
      'notify.webhook_headers.X-A must be a text of printable ASCII characters',
    ],
    [
      '[notify]\nwebhook_headers = { "X A" = "a" }',
      '"notify.webhook_headers.X A" is not a name that a header can have',
    ],
    [
      '[notify]\nwebhook_headers = { Content-Length = "1" }',
      'notify.webhook_headers.Content-Length says how the message is framed, which cannot be set',
    ],
    ['[notify]\nbell = ', 'it is not TOML at line 2, column 8: invalid value'],
    [
      '[notify]\nbell = true\nbell = true',
      'it is not TOML at line 3, column 1: trying to redefine an already defined table or value',
    ],
  ])('of %j is refused with a sentence', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  it('is refused without repeating any value, which may be a secret', () => {
    const secret = 'hunter2secret';
    const texts = [
      `[notify]\nwebhook = "ftp://x/${secret}"`,
      `[notify]\nwebhook = ${secret}`,
      `[notify]\nwebhook_token_env = "${secret}-"`,
      `[notify]\nwebhook_headers = { Authorization = "${secret}\\n" }`,
      `[notify]\ncommand = "${secret}"`,
    ];
    expect(texts.map(problemOf).filter((problem) => problem === 'none' || problem.includes(secret))).toEqual(
      [],
    );
  });

  it('of any document at all is read or refused in one line, and never throws', () => {
    const scalar = fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.constant([]), fc.array(fc.string()));
    const names = fc.oneof(fc.string(), fc.constantFrom('notify', 'on', 'command', 'webhook', '__proto__'));
    const document = fc.dictionary(names, fc.oneof(scalar, fc.dictionary(names, scalar)));
    fc.assert(
      fc.property(document, (each) => {
        const parsed = parseConfig(stringify(each));
        if (parsed.is === 'wrong') expect(parsed.problem).toMatch(/^[^\p{Cc}]+$/u);
        else expect(Object.keys(parsed.config)).toEqual(Object.keys(DEFAULTS));
      }),
    );
  });
});

describe('the configuration file', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'reeve-config-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const file = () => join(root, 'reeve', 'config.toml');
  const read = () => readConfig({ XDG_CONFIG_HOME: root });
  const write = (content: string | Buffer) => {
    mkdirSync(dirname(file()), { recursive: true });
    writeFileSync(file(), content);
  };
  const errorOf = (environment: Record<string, string>) => {
    try {
      return readConfig(environment);
    } catch (error) {
      return error instanceof ReeveError
        ? { code: error.code, message: error.message, details: error.details }
        : error;
    }
  };
  const bad = (path: string, problem: string, key: string | null = null) => ({
    code: 'bad_config',
    message: `The configuration ${path} cannot be used: ${problem}`,
    details: { file: path, key },
  });

  it('is found where the environment says', () => {
    expect([
      configPath({ REEVE_CONFIG: '/etc/r.toml', XDG_CONFIG_HOME: '/x', HOME: '/h' }),
      configPath({ REEVE_CONFIG: '', XDG_CONFIG_HOME: '/x', HOME: '/h' }),
      configPath({ HOME: '/h' }),
    ]).toEqual(['/etc/r.toml', '/x/reeve/config.toml', '/h/.config/reeve/config.toml']);
  });

  it('may be missing', () => {
    expect(read()).toEqual(DEFAULTS);
    mkdirSync(join(root, 'reeve'));
    expect(read()).toEqual(DEFAULTS);
    expect(readConfig({ XDG_CONFIG_HOME: join(root, 'none', 'at-all') })).toEqual(DEFAULTS);
  });

  it('is not taken for none where a link leads nowhere, or a file is in the place of its directory', () => {
    const dangling = 'is a link to what is not there.';
    mkdirSync(join(root, 'a', 'reeve'), { recursive: true });
    symlinkSync(join(root, 'none'), join(root, 'a', 'reeve', 'config.toml'));
    symlinkSync(join(root, 'none'), join(root, 'b'));
    writeFileSync(join(root, 'reeve'), '');
    const path = (base: string) => join(root, base, 'reeve', 'config.toml');
    expect(['a', 'b', '.'].map((base) => errorOf({ XDG_CONFIG_HOME: join(root, base) }))).toEqual([
      bad(path('a'), `it ${dangling}`),
      bad(path('b'), `${join(root, 'b')} ${dangling}`),
      bad(file(), `${join(root, 'reeve')} is not a directory.`),
    ]);
  });

  it('is refused where its place depends on the current directory', () => {
    expect(errorOf({ XDG_CONFIG_HOME: 'relative', HOME: root })).toMatchObject({ code: 'bad_config' });
  });

  it('may not be missing when it was named', () => {
    const path = join(root, 'nowhere.toml');
    expect(errorOf({ REEVE_CONFIG: path })).toEqual(bad(path, 'it is not there, but REEVE_CONFIG names it.'));
  });

  it('is read, with a byte order mark too', () => {
    write('\uFEFF[notify]\nbell = true\n');
    expect(read()).toEqual({ ...DEFAULTS, notify: { ...DEFAULTS.notify, bell: true } });
  });

  it('names itself and the key when it is wrong', () => {
    write('[notify]\nwebhok = "http://x"\n');
    expect(errorOf({ XDG_CONFIG_HOME: root })).toEqual(
      bad(file(), 'notify.webhok is not known; did you mean notify.webhook?', 'notify.webhok'),
    );
  });

  it('is refused when it is not UTF-8, too large, or no file', () => {
    write(Buffer.from([0x61, 0xff]));
    expect(errorOf({ XDG_CONFIG_HOME: root })).toEqual(bad(file(), 'it is not UTF-8 text.'));
    write('#'.repeat(2 * 1024 * 1024));
    expect(errorOf({ XDG_CONFIG_HOME: root })).toEqual(bad(file(), 'it is too large to be a configuration.'));
    expect(errorOf({ REEVE_CONFIG: root })).toEqual(bad(root, 'it is not a file.'));
  });

  it('is not waited for when it is a pipe', () => {
    const pipe = join(root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(errorOf({ REEVE_CONFIG: pipe })).toEqual(bad(pipe, 'it is not a file.'));
  });

  it('is refused when it cannot be read', () => {
    mkdirSync(dirname(file()));
    symlinkSync('config.toml', file());
    expect(errorOf({ XDG_CONFIG_HOME: root })).toEqual(
      bad(file(), 'it cannot be read (its links go round in a circle).'),
    );
  });
});

describe('docs/config.md', () => {
  const page = readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8');
  /** Rows look like: | `notify.bell` | true or false | `false` | what it is | */
  const ROW = /^\|\s*`([a-z_.]+)`\s*\|\s*(\S.*?)\s*\|\s*(\S.*?)\s*\|\s*(\S.*?)\s*\|\s*$/gm;
  const rows = [...page.matchAll(ROW)].map(([, name, wants, byDefault, says]) => ({
    name,
    wants,
    byDefault,
    says,
  }));

  it('documents every key of the table and no other, each once, with its type, default and meaning', () => {
    const keys: Record<string, Record<string, ConfigKey<unknown>>> = CONFIG_KEYS;
    expect(rows).toEqual(
      Object.entries(keys).flatMap(([table, entries]) =>
        Object.entries(entries).map(([name, key]) => ({
          name: `${table}.${name}`,
          wants: key.kind.wants,
          byDefault: key.default === null ? 'none' : `\`${JSON.stringify(key.default)}\``,
          says: key.says,
        })),
      ),
    );
  });

  it('explains every change that can be told, and no other', () => {
    const explained = [...page.matchAll(/^- `([a-z-]+)`(?:, only when listed)?: /gm)].map(([, word]) => word);
    expect(explained).toEqual(NOTABLE_STATUSES);
    const unasked = [...page.matchAll(/^- `([a-z-]+)`: /gm)].map(([, word]) => word);
    expect(unasked).toEqual(TOLD_UNASKED);
  });

  it('has an example that can be used and has every key', () => {
    const example = /```toml\n([^]*?)```/.exec(page)?.[1] ?? '';
    expect(parseConfig(example)).toMatchObject({ is: 'read' });
    const missing = rows.filter(
      ({ name = '' }) => !new RegExp(`^${name.split('.')[1]} = `, 'm').test(example),
    );
    expect(missing).toEqual([]);
  });
});
