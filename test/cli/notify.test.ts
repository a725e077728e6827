/** `notify test` and `notify mute`, without a daemon. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startReceiver, status } from '../daemon/receiver.ts';
import type { Receiver } from '../daemon/receiver.ts';
import { createSandbox } from '../support/sandbox.ts';
import type { Sandbox } from '../support/sandbox.ts';

let sandbox: Sandbox;
let receiver: Receiver;
beforeEach(async () => {
  sandbox = createSandbox();
  receiver = await startReceiver();
  mkdirSync(sandbox.path('.config/reeve'), { recursive: true });
});
afterEach(async () => {
  await receiver.close();
  await sandbox.cleanUp();
});

const configure = (lines: string) =>
  writeFileSync(sandbox.path('.config/reeve/config.toml'), `[notify]\n${lines}\n`);

describe('notify test', () => {
  it('sends a message by every way that is configured, in quiet hours too', async () => {
    configure(`webhook = "${receiver.address}"\ncommand = ["true"]\nquiet = "00:00-23:59"`);
    expect(await sandbox.json(['notify', 'test'])).toEqual({
      channels: [
        { name: 'command', sent: true, because: null },
        { name: 'webhook', sent: true, because: null },
      ],
    });
    expect(receiver.at(0).body).toMatchObject({ key: 0, status: 'test', session: null, run: null });
  });

  it('fails when one of them does, and says which and why', async () => {
    configure(`webhook = "${receiver.address}"\ncommand = ["false"]\nbell = true`);
    receiver.answers.push(status(404));
    expect(await sandbox.json(['notify', 'test'], 1)).toEqual({
      channels: [
        { name: 'command', sent: false, because: 'it exited with code 1' },
        { name: 'webhook', sent: false, because: 'it answered 404' },
        { name: 'bell', sent: false, because: 'there is no terminal to ring it on' },
      ],
    });
  });

  it('says in one sentence that nothing is configured', async () => {
    configure('');
    expect(await sandbox.json(['notify', 'test'], 2)).toMatchObject({ error: { code: 'not_configured' } });
  });
});

describe('notify mute', () => {
  it('lasts as long as was said, is shown, and can be ended again and again', async () => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    const before = Date.now();
    const { until } = await sandbox.json<{ until: string }>(['notify', 'mute', 'a', '--for', '2h']);
    expect(Date.parse(until) - before).toBeGreaterThanOrEqual(2 * 3_600_000);
    expect((await sandbox.show('a')).mute).toEqual({ until });
    expect((await sandbox.reeve(['show', 'a'])).stdout).toContain('muted until');
    for (const _ of ['once', 'twice']) await sandbox.json(['notify', 'unmute', 'a']);
    expect((await sandbox.show('a')).mute).toBeNull();
    const story = await sandbox.json<{ sentences: { text: string }[] }>(['why', 'a']);
    expect(story.sentences.filter(({ text }) => text.includes('mute')).length).toBe(2);
  });

  it.each([
    [['--for', 'ever'], 'usage'],
    [['--until', '2020-01-01'], 'usage'],
    [['--for', '2h', '--until', '08:00'], 'usage'],
  ])('refuses %j', async (flags, code) => {
    await sandbox.reeve(['run', '-s', 'a', '--', 'true']);
    expect(await sandbox.json(['notify', 'mute', 'a', ...flags], 2)).toMatchObject({ error: { code } });
    expect((await sandbox.show('a')).mute).toBeNull();
  });
});
