/** What a keeper gives back to the system once its harness executes, and that it lives on what it keeps. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { systemCalls } from '../../src/process/containment.ts';

const keeper = readFileSync(new URL('../../src/process/keeper.pl', import.meta.url), 'utf8');
const [giveBack = ''] = /^sub give_back_memory \{\n[^]*?^\}\n/m.exec(keeper) ?? [];

/** The keeper's own lines, in a Perl that does as much besides. */
function perl(...before: readonly string[]) {
  const program = `
    use strict;
    my ($madvise, $MADV_DONTNEED) = (${systemCalls({ by: 'subreaper' }).madvise}, 4);
    sub resident { open my $file, '<', '/proc/self/statm'; return (split / /, <$file>)[1]; }
    ${giveBack}
    my $child;
    ${before.join('\n')}
    my $resident = resident();
    give_back_memory();
    my $less = resident() < $resident;
    if ($child) { kill 'KILL', $child; waitpid $child, 0; }
    open my $null, '>', '/dev/null';
    printf $null '%s %.3f', join(',', sort map { lc } qw(B A)), sqrt 2;
    print $less ? 'less' : 'as much';`;
  return promisify(execFile)('perl', ['-e', program], { env: {} });
}

describe('a keeper that gives memory back', { tags: ['linux'] }, () => {
  it('has less of it, and goes on', async () => {
    expect((await perl()).stdout).toBe('less');
  });

  // As for as long as somebody reads the environment of the harness that was about to execute: `ps`, or `reeve ls`.
  it('goes on too where its pages are still another’s as well', async () => {
    expect(
      (
        await perl(
          'my $keeper = $$;',
          '$child = fork;',
          'if ($child == 0) { sleep 1 while getppid() == $keeper; exit; }',
        )
      ).stdout,
    ).toBe('less');
  });
});
