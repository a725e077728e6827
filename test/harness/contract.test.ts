/** The contract of all adapters, as far as command lines go. See contract-*.test.ts for files, processes and reports. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adapterNamed, harnessOf } from '../../src/harness/adapters.ts';
import { command } from '../../src/harness/command.ts';
import type { Adapter } from '../../src/harness/adapter.ts';
import { placeIn, SUBJECTS } from '../fixtures/harness-subjects.ts';
import type { Subject } from '../fixtures/harness-subjects.ts';

const AWKWARD_PROMPTS: readonly (readonly [string, string])[] = [
  ['plain', 'fix the parser'],
  ['a dash in front', '-p is broken'],
  ['two dashes in front', '--resume does nothing'],
  ['only dashes', '--'],
  ['nothing at all', ''],
  ['several lines', 'one\n\ntwo\r\n'],
  ['a megabyte', 'x'.repeat(1024 * 1024)],
  ['a megabyte with a dash in front', `-${'x'.repeat(1024 * 1024)}`],
  ['the name of a command', 'resume'],
  ['the name of another', 'exec'],
  ['the name of a third', 'fork'],
  ['an id', 'bbbbbbbb-1111-4111-8111-111111111111'],
  ['quotes and other signs', `"'\`$HOME\\ é ✳ 🙂`],
  ['an equals sign', 'a=b'],
];

const RESUMED = { is: 'resume' } as const;

describe.each(SUBJECTS.map((subject) => [subject.name, subject] as const))('%s', (name, subject) => {
  const { adapter, ids } = subject;
  const [id, otherId] = ids;

  it('is known by the name of its program, wherever that is', async () => {
    expect([[name], [`/usr/local/bin/${name}`, '--help'], [`./${name}`]].map(harnessOf)).toEqual([
      name,
      name,
      name,
    ]);
    expect([[`${name}-x`], [`my-${name}`], ['vim', name], [`/${name}/run`], []].map(harnessOf)).toEqual(
      Array.from({ length: 5 }, () => 'command'),
    );
    expect((await adapterNamed(name)).name).toBe(name);
  });

  it('reads and changes the same behind launchers, which stay where they are', async () => {
    const named = await adapterNamed(name);
    const launchers = ['env', 'A=b', '/usr/bin/nice', '-n', '5', 'timeout', '60'];
    const order = { hookProgram: '/hook.sh', runDirectory: '/run', place: placeIn('/home/u', '/project') };
    const lines = [
      subject.interactive([], 'x'),
      subject.headless([], 'x'),
      ...subject.latest,
      ...subject.open,
    ];
    for (const line of lines) {
      const argv = [...launchers, ...line];
      expect(harnessOf(argv)).toBe(name);
      expect(named.readInvocation(argv)).toEqual(adapter.readInvocation(line));
      expect(named.stopSignal(argv)).toBe(adapter.stopSignal(line));
      for (const change of [
        (one: Adapter, words: readonly string[]) => one.withResume(words, id),
        (one: Adapter, words: readonly string[]) => one.withLatest(words, id),
        (one: Adapter, words: readonly string[]) => one.resumeArgv(words, id, 'go on'),
        (one: Adapter, words: readonly string[]) => one.withNewId(words, id),
        (one: Adapter, words: readonly string[]) => one.reporting({ ...order, argv: words })?.argv ?? null,
      ]) {
        const changed = change(adapter, line);
        expect(change(named, argv)).toEqual(changed === null ? null : [...launchers, ...changed]);
      }
    }
  });

  it('takes a plain start for a new conversation', () => {
    const asked = { is: 'new', nativeId: null };
    for (const prompt of [null, 'fix the parser']) {
      expect(adapter.readInvocation(subject.interactive([], prompt))).toEqual({ asked, isInteractive: true });
    }
    expect(adapter.readInvocation(subject.headless([], 'x'))).toEqual({ asked, isInteractive: false });
    expect(adapter.readInvocation([...adapter.headless, 'x']).isInteractive).toBe(false);
  });

  it.each(subject.managing.map((argv) => [argv.join(' '), argv] as const))(
    'takes what only manages something for no conversation: %s',
    (_, argv) => {
      expect(adapter.readInvocation(argv).asked).toEqual({ is: 'none' });
    },
  );

  it.each(subject.open.map((argv) => [argv.join(' '), argv] as const))(
    'promises no conversation that only the harness knows: %s',
    (_, argv) => {
      expect(adapter.readInvocation(argv).asked).toEqual({ is: 'open' });
    },
  );

  it.each(subject.latest.map((argv) => [argv.join(' '), argv] as const))(
    'names the latest conversation where it was only called that: %s',
    (_, argv) => {
      const before = adapter.readInvocation(argv);
      expect(before.asked).toEqual({ is: 'latest' });
      const named = adapter.withLatest(argv, id);
      expect(adapter.readInvocation(named)).toEqual({ ...before, asked: { ...RESUMED, nativeId: id } });
      expect(named.filter((word) => word === 'go on')).toEqual(argv.filter((word) => word === 'go on'));
    },
  );

  it.each(AWKWARD_PROMPTS)('goes on with a conversation with a prompt that is %s', (_, prompt) => {
    for (const earlier of [subject.interactive([], null), subject.headless([], 'earlier')]) {
      const argv = adapter.resumeArgv(earlier, id, prompt);
      const { isInteractive } = adapter.readInvocation(earlier);
      expect(adapter.readInvocation(argv)).toEqual({ asked: { ...RESUMED, nativeId: id }, isInteractive });
      expect(promptIn(argv), 'the prompt').toBe(prompt);
      expect(argv.includes('earlier')).toBe(false);
    }
  });

  it.each(AWKWARD_PROMPTS)('keeps a prompt of the caller that is %s', (_, prompt) => {
    for (const argv of [subject.interactive([], prompt), subject.headless([], prompt)]) {
      const { asked, isInteractive } = adapter.readInvocation(argv);
      expect(asked).toEqual({ is: 'new', nativeId: null });
      const resumed = adapter.withResume(argv, id);
      expect(adapter.readInvocation(resumed)).toEqual({ asked: { ...RESUMED, nativeId: id }, isInteractive });
      expect(promptIn(resumed), 'the prompt').toBe(prompt);
    }
  });

  it('is there to talk to again when it goes on without a prompt', () => {
    const argv = adapter.resumeArgv(subject.headless(subject.headlessOptions.flat(), 'earlier'), id, null);
    expect(adapter.readInvocation(argv)).toEqual({
      asked: { ...RESUMED, nativeId: id },
      isInteractive: true,
    });
    expect(subject.headlessOptions.filter(([option = '']) => argv.includes(option))).toEqual([]);
  });

  it('lets the caller choose the id of a new conversation, or says that it cannot', () => {
    const argv = subject.headless([], 'x');
    const pinned = adapter.withNewId(argv, otherId);
    expect(pinned === null).toBe(!subject.choosesId);
    if (pinned === null) return;
    expect(adapter.readInvocation(pinned)).toEqual({
      asked: { is: 'new', nativeId: otherId },
      isInteractive: false,
    });
    // The harness refuses both together.
    const resumed = adapter.withResume(pinned, id);
    expect(adapter.readInvocation(resumed).asked).toEqual({ ...RESUMED, nativeId: id });
    expect(resumed).not.toContain(otherId);
  });

  it('keeps all other options, whichever they are and in whatever order', () => {
    fc.assert(
      fc.property(generated(subject), ({ options, isHeadless, prompt }) => {
        const argv = (isHeadless ? subject.headless : subject.interactive)(options.flat(), prompt);
        expect(adapter.readInvocation(argv)).toEqual({
          asked: { is: 'new', nativeId: null },
          isInteractive: !isHeadless,
        });
        for (const changed of [
          adapter.withResume(argv, id),
          adapter.resumeArgv(argv, id, prompt),
          adapter.resumeArgv(adapter.resumeArgv(argv, otherId, 'again'), id, prompt),
        ]) {
          expect(adapter.readInvocation(changed)).toEqual({
            asked: { ...RESUMED, nativeId: id },
            isInteractive: !isHeadless,
          });
          expect(options.filter((words) => !holds(changed, words))).toEqual([]);
          expect(promptIn(changed)).toBe(prompt);
          expect(changed).not.toContain(otherId);
        }
        const pinned = adapter.withNewId(argv, otherId);
        if (pinned !== null)
          expect(adapter.readInvocation(pinned).asked).toEqual({ is: 'new', nativeId: otherId });
      }),
      { numRuns: 300 },
    );
  });

  it('reads any words whatsoever', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '-c', '-r', '--resume', '--last', 'resume', 'exec', 'run', '-p', '-i', '='),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const argv = [name, ...words];
        expect(typeof adapter.readInvocation(argv).isInteractive).toBe('boolean');
        const resumed = adapter.resumeArgv(argv, id, 'go on');
        expect(promptIn(resumed)).toBe('go on');
      }),
      { numRuns: 500 },
    );
  });
});

/** In each of its forms: a last word, or behind the equals sign of an option that is one. */
function promptIn(argv: readonly string[]): string {
  const last = argv.at(-1) ?? '';
  const option = /^(?:--prompt|--prompt-interactive|-i)=/.exec(last)?.[0] ?? '';
  return last.slice(option.length);
}

/** One after another, as they must be. */
function holds(argv: readonly string[], words: readonly string[]): boolean {
  return argv.some((_, at) => words.every((word, offset) => argv[at + offset] === word));
}

function generated({ options, headlessOptions }: Subject) {
  return fc.boolean().chain((isHeadless) =>
    fc.record({
      isHeadless: fc.constant(isHeadless),
      options: fc.shuffledSubarray([...options, ...(isHeadless ? headlessOptions : [])]),
      prompt: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('-x', 'resume', '--last', 'fix it')),
    }),
  );
}

describe('Claude', () => {
  const { adapter, ids } = SUBJECTS[0] as Subject; // The first of a list that is written down above.

  it('takes a word for a command only where it would print nothing', () => {
    expect(adapter.readInvocation(['claude', '-p', 'mcp']).asked).toEqual({ is: 'new', nativeId: null });
    expect(adapter.resumeArgv(['claude', '-p'], ids[0], 'mcp').at(-1)).toBe('mcp');
    // Without the space it would manage servers; nothing else makes it a prompt.
    expect(adapter.resumeArgv(['claude'], ids[0], 'mcp').at(-1)).toBe('mcp ');
  });

  it('understands short options in one word', () => {
    const asked = { is: 'resume', nativeId: ids[0] };
    expect(adapter.readInvocation(['claude', '-pr', ids[0], 'x'])).toEqual({ asked, isInteractive: false });
    expect(adapter.readInvocation(['claude', `-r${ids[0]}`, 'x'])).toEqual({ asked, isInteractive: true });
  });

  it('lets no option take the prompt when another one goes', () => {
    const argv = ['claude', '--allowedTools', 'Bash', '--session-id', ids[1], 'fix it'];
    const resumed = adapter.withResume(argv, ids[0]);
    expect(resumed).toEqual(['claude', '--allowedTools', 'Bash', '--resume', ids[0], '--', 'fix it']);
  });
});

describe.each(['codex', 'code'])('%s', (name) => {
  const { adapter, ids } = SUBJECTS.find((subject) => subject.name === name) as Subject; // Both are there.
  const [id] = ids;

  it('leaves options where they are understood', () => {
    expect(adapter.withResume([name, '-a', 'never', 'exec', '-s', 'read-only', 'x'], id)).toEqual([
      name,
      '-a',
      'never',
      'exec',
      '-s',
      'read-only',
      'resume',
      id,
      '--',
      'x',
    ]);
    expect(adapter.resumeArgv([name, '-a', 'never', 'exec', '-C', '/d', 'x'], id, 'y')).toEqual([
      name,
      '-a',
      'never',
      'exec',
      '-C',
      '/d',
      'resume',
      id,
      '--',
      'y',
    ]);
  });

  it('does not let an image take the id', () => {
    expect(adapter.withResume([name, '-i', 'a.png', 'b.png', '--', 'x'], id)).toEqual([
      name,
      'resume',
      id,
      '-i',
      'a.png',
      '-i',
      'b.png',
      '--',
      'x',
    ]);
    expect(adapter.resumeArgv([name, '-i', 'a.png', '--', 'x'], id, null)).toEqual([name, 'resume', id]);
  });

  it('goes on after a review as with anything else', () => {
    expect(adapter.readInvocation([name, 'review', 'resume']).asked).toEqual({ is: 'new', nativeId: null });
    expect(adapter.resumeArgv([name, 'review', '--base', 'main'], id, 'fix it')).toEqual([
      name,
      'exec',
      'resume',
      id,
      '--',
      'fix it',
    ]);
  });
});

describe('opencode', () => {
  const { adapter, ids } = SUBJECTS.find(({ name }) => name === 'opencode') as Subject; // It is there.

  it('stays in the directory that it was started for', () => {
    expect(adapter.resumeArgv(['opencode', './sub', '--cors', 'a'], ids[0], null)).toEqual([
      'opencode',
      './sub',
      '--cors',
      'a',
      '--session',
      ids[0],
    ]);
  });

  it('is there to talk to in its small form too', () => {
    expect(adapter.readInvocation(['opencode', 'run', '-i', 'x']).isInteractive).toBe(true);
  });

  it('does not send the files and the command of the first message again', () => {
    const first = [
      'opencode',
      'run',
      '--command',
      'init',
      '-f',
      'a',
      'b',
      '--title',
      't',
      '--format',
      'json',
    ];
    expect(adapter.resumeArgv(first, ids[0], 'x')).toEqual([
      'opencode',
      'run',
      '--format',
      'json',
      '--session',
      ids[0],
      '--',
      'x',
    ]);
  });
});

describe('any other command', () => {
  it('has no conversation, and is left as it is', () => {
    const argv = ['make', '--resume', 'x'];
    expect(harnessOf(argv)).toBe('command');
    expect(command.readInvocation(argv)).toEqual({ asked: { is: 'none' }, isInteractive: true });
    expect([
      command.withNewId(argv, 'i'),
      command.withLatest(argv, 'i'),
      command.withResume(argv, 'i'),
      command.resumeArgv(argv, 'i', 'p'),
      command.nativeProgram('/bin/make'),
      command.readReport({ hook_event_name: 'Stop', session_id: 'i' }),
      command.readPane('✦', 'esc to interrupt'),
    ]).toEqual([null, argv, argv, argv, '/bin/make', null, null]);
  });

  it('stands for a harness that only a newer Reeve knows', async () => {
    expect(await adapterNamed('newcomer')).toBe(command);
  });
});
