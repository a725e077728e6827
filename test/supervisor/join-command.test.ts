/** What a terminal types to join a session, from wherever the session is. */
import { describe, expect, it } from 'vitest';
import { whyNotJudged } from '../../src/lifecycle/reach.ts';
import type { Place } from '../../src/lifecycle/reach.ts';
import { joinFrom } from '../../src/supervisor/join-command.ts';

const join = (place: Place, home: string | null = null) => joinFrom(whyNotJudged(place), 'web', home);

describe('the command that joins', () => {
  it('is short where a terminal finds the state directory by itself, and names it otherwise', () => {
    expect(join({ is: 'here' })).toEqual({ command: 'reeve attach web', host: null });
    expect(join({ is: 'here' }, "/a b's")).toEqual({
      command: String.raw`REEVE_HOME='/a b'\''s' reeve attach web`,
      host: null,
    });
  });

  it('of a run of another state directory names that one', () => {
    expect(join({ is: 'other_directory', directory: '/other' }, '/own')).toEqual({
      command: 'REEVE_HOME=/other reeve attach web',
      host: null,
    });
  });

  it('of a run on another host is for a terminal there, and does not name a directory of this one', () => {
    expect(join({ is: 'other_host', host: 'builder/0123' }, '/own')).toEqual({
      command: 'reeve attach web',
      host: 'builder',
    });
  });

  it('of a run whose state directory is not known is none, and it is said why', () => {
    expect(() => join({ is: 'other_directory', directory: null })).toThrow(
      expect.objectContaining({ code: 'out_of_reach' }),
    );
  });
});
