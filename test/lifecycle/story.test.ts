import { describe, expect, it } from 'vitest';
import { tellStory } from '../../src/lifecycle/story.ts';
import type { StoryEvent } from '../../src/lifecycle/story.ts';
import { CLAIMED, ENDING, identityOf, INTENDED_OUTCOMES, INTENT, OUTCOMES } from './samples.ts';

function event(kind: string, data: StoryEvent['data'], more: Partial<StoryEvent> = {}): StoryEvent {
  return { atMs: 1_234, runId: 'run-1', kind, actor: 'ada', data, ...more };
}

function told(kind: string, data: StoryEvent['data'], actor = 'ada'): string {
  const [sentence] = tellStory([event(kind, data, { actor })]);
  return sentence?.text ?? '';
}

function expectNamed(text: string, named: readonly string[]): void {
  expect(named.filter((each) => !text.includes(each))).toEqual([]);
}

describe('a story', () => {
  it('has one sentence for each event, in order, with its time and run', () => {
    const data = { harness: identityOf(300) };
    const events = [
      event('run.executing', data, { atMs: 0, runId: 'run-0' }),
      event('something.new', data, { atMs: 1, runId: null }),
      event('run.executing', data, { atMs: 2, runId: 'run-2' }),
    ];
    expect(tellStory(events)).toEqual(
      events.map(({ atMs, runId }) => ({ atMs, runId, text: expect.stringMatching(/\.$/) })),
    );
  });

  it('names who claimed the session, for which run, and what was to be executed where', () => {
    const { epoch, cwd, mode } = CLAIMED;
    const text = told('run.claimed', { epoch, cwd, mode, argv: ['claude', '-p', 'fix the login'] });
    expectNamed(text, ['ada', 'run-1', '3', 'claude -p "fix the login"', '/home/ada/api', 'detached']);
  });

  it('does not say of whoever wanted an end that they put it on record', () => {
    const by = (outcome: string) =>
      /\((\w+(?: \w+)?) by ada\)/.exec(told('run.ended', { ...ENDING, outcome, actor: 'ada' }))?.[1];
    expect(OUTCOMES.map((outcome) => [outcome, by(outcome)])).toEqual(
      OUTCOMES.map((outcome) => [
        outcome,
        INTENDED_OUTCOMES.some((each) => each === outcome) ? 'asked for' : 'recorded',
      ]),
    );
  });

  it('shows the words of a command apart, so that a strange one cannot pass for two', () => {
    const said = (argv: string[]) => told('run.claimed', { epoch: 1, cwd: '/', mode: 'detached', argv });
    const commands = [['a', 'b c'], ['a', 'b', 'c'], ['a b c'], ['a', 'b\nc'], ['a', '', 'b c']].map(said);
    expect(new Set(commands).size).toBe(commands.length);
    expect(commands.filter((text) => text.includes('\n'))).toEqual([]);
  });

  it.each([{ by: 'cgroup', path: '/sys/fs/cgroup/x' }, { by: 'subreaper' }, { by: 'marks' }])(
    'names the keeper of a started run held by $by',
    (containment) => {
      expectNamed(told('run.started', { keeper: identityOf(200), containment }), ['200']);
    },
  );

  it('tells the three containments apart', () => {
    const texts = ['cgroup', 'subreaper', 'marks'].map((by) =>
      told('run.started', { keeper: identityOf(200), containment: { by } }),
    );
    expect(new Set(texts).size).toBe(3);
  });

  it('names the process that executes', () => {
    expectNamed(told('run.executing', { harness: identityOf(300) }), ['300']);
  });

  it('names who wanted the end, and tells each wish apart', () => {
    const texts = INTENDED_OUTCOMES.map((outcome) => told('run.intended', { ...INTENT, outcome }, 'bob'));
    for (const text of texts) expectNamed(text, ['bob']);
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('names who took a wish back, which, and who still has one', () => {
    const outcomes = ['stopped', 'superseded'] as const;
    const texts = outcomes.flatMap((outcome) =>
      [null, { ...INTENT, actor: 'eve' }].map((next) => told('run.withdrawn', { outcome, next }, 'bob')),
    );
    for (const text of texts) expectNamed(text, ['bob']);
    expect(texts.map((text) => text.includes('eve'))).toEqual([false, true, false, true]);
    expect(new Set(texts).size).toBe(texts.length);
  });

  it.each(OUTCOMES)('names run, outcome, reason, recorder and evidence of an end as %s', (outcome) => {
    const ending = { ...ENDING, outcome, evidence: ['process 300 is gone', 'exit record'] };
    expectNamed(told('run.ended', ending), [
      'run-1',
      outcome,
      ENDING.reason,
      ENDING.actor,
      'process 300 is gone',
      'exit record',
    ]);
  });

  it('names the signal of an end by signal, the code of one by code, and neither when neither is known', () => {
    const said = (exitCode: number | null, signal: string | null) =>
      told('run.ended', { ...ENDING, reason: 'why', evidence: [], exitCode, signal });
    expectNamed(said(null, 'SIGKILL'), ['SIGKILL']);
    expectNamed(said(137, null), ['137']);
    expect(said(null, null)).not.toMatch(/null|exit|signal/);
  });

  it('names each survivor', () => {
    const survivors = [
      { name: 'node', pid: 41 },
      { name: 'bash', pid: 42 },
    ];
    expect(told('run.survivors', { survivors: [] })).toContain('none could be named');
    expectNamed(told('run.survivors', { survivors }), ['node', '41', 'bash', '42']);
  });

  it('says why a run was doubted', () => {
    expectNamed(told('run.doubted', { because: 'nine of nine looked dead' }), ['nine of nine looked dead']);
  });

  it('names the late run, its write, and the run that stands', () => {
    const kept = { write: 'submission', because: 'it has ended', current: 'run-2', kept: 'sub-1' };
    expectNamed(told('write.fenced', kept), ['submission', 'run-1', 'run-2', 'sub-1']);
    expectNamed(told('submission.accepted', { submission: 'sub-1', bytes: 12 }), ['sub-1', '12']);
    const alone = told('write.fenced', { write: 'result', because: 'it has ended', current: 'run-1' });
    expect(alone).toContain('No run has followed it.');
    const text = told('write.fenced', { write: 'result', because: 'it has ended', current: 'run-2' });
    expectNamed(text, ['run-1', 'result', 'it has ended', 'run-2']);
  });

  it('still tells of an event that it does not know, by a newer version', () => {
    expectNamed(told('gate.tripped', {}), ['ada', 'gate.tripped']);
  });
});

describe('a budget in a story', () => {
  it.each([
    [
      'budget.set',
      { budget: { tokens: 5_000, cost: 2, minutes: null } },
      'ada set its budget: 5.0k tokens, a cost of 2.00.',
    ],
    [
      'budget.set',
      { budget: { tokens: null, cost: null, minutes: null } },
      'ada said what happens at a limit.',
    ],
    ['budget.set', { budget: null }, 'ada lifted its budget.'],
    ['budget.warned', { what: 'the limit' }, 'It was warned: it is close to the limit.'],
    ['budget.exceeded', { what: 'the limit' }, 'It is over the limit. It goes on, and a person is asked.'],
    ['budget.cleared', {}, 'There is nothing to ask about its budget any more.'],
    ['notify.muted', { untilMs: null, until: null }, 'ada muted its notifications.'],
    [
      'notify.muted',
      { until: '2026-05-04T10:00:00.000Z' },
      'ada muted its notifications until 2026-05-04T10:00:00.000Z.',
    ],
    ['notify.unmuted', {}, 'ada ended the mute of its notifications.'],
  ])('%s is told', (kind, data, sentence) => {
    expect(told(kind, data)).toBe(sentence);
  });
});

describe('reviews', () => {
  const about = { review: 'rev-1', pr: '17', head: 'abcd' };
  it.each([
    ['created', {}, ['ada']],
    ['skipped', { sameAs: 'rev-0', verdict: 'approve' }, ['rev-0', 'approve']],
    ['started', { run: 'r-9' }, ['r-9']],
    ['intended', { intent: 'supersede', by: 'rev-2', run: 'r-9' }, ['superseded', 'r-9']],
    ['intended', { intent: 'move', by: null, run: 'r-9' }, ['fresh', 'r-9']],
    ['intended', { intent: 'cancel', by: null, run: 'r-9' }, ['cancelled', 'r-9']],
    ['kept', { because: 'it lives' }, ['it lives']],
    ['requeued', { run: 'r-9' }, ['r-9', 'waits']],
    ['superseded', { by: 'rev-2', run: 'r-9' }, ['rev-2', 'r-9']],
    ['superseded', { by: 'rev-2', run: null }, ['rev-2', 'nobody']],
    ['cancelled', { run: 'r-9' }, ['Cancelled', 'r-9']],
    ['submitted', { verdict: 'changes', run: 'r-9' }, ['ada', 'changes']],
    ['failed', { reason: 'it exited with code 3' }, ['it exited with code 3']],
    ['fenced', { run: 'r-9', because: 'it is superseded' }, ['r-9', 'refused', 'it is superseded']],
    ['made up', {}, ['review.made up']],
  ])('tell which was %s, of what', (what, data, named) => {
    expectNamed(told(`review.${what}`, { ...about, ...data }), ['rev-1', '17', 'abcd', ...named]);
  });
});
