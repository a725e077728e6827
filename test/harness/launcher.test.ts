/** Where the real command begins behind programs that only start another one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCommand } from '../../src/harness/launcher.ts';

const words = (line: string) => line.split(' ');
const behind = (line: string) =>
  words(line)
    .slice(findCommand(words(line)).at)
    .join(' ');

describe('the real command', () => {
  it.each([
    'env',
    '/usr/bin/env',
    'env A=b',
    'env -i A=b C=d=e',
    'env - PATH=/bin',
    'env -u A -uB --unset=C --unset D -- E=',
    'env -vi',
    'nice',
    'nice -n 5',
    'nice -n5',
    'nice -5',
    'nice --adjustment=5',
    'nohup',
    'nohup --',
    'timeout 60',
    'timeout -s KILL -k5 1m',
    'timeout -vp --signal=INT --foreground 60',
    'stdbuf -oL -e 0',
    'setsid',
    'setsid -w',
    'ionice -c 3',
    'ionice -c2 -n0 -t',
    'time -p',
    '/usr/bin/time -v -o file',
    'nohup nice -n 5 env A=b timeout 60',
  ])('is found behind `%s`', (launcher) => {
    expect(behind(`${launcher} program --option A=b`)).toBe('program --option A=b');
  });

  it.each([
    'program --option',
    'sh -c program',
    'sudo program',
    'env -S program',
    'env --split-string=program x',
    'env -C / program',
    'env --unknown program',
    'nice --weird program',
    'timeout --sig KILL 60 program',
    'ionice -p 12',
    'setsid -x program',
    'nice env -x program',
    'env',
    'env A=b',
    'nohup',
    'timeout 60',
    'timeout',
    'nice -n',
  ])('of `%s` is the whole line', (line) => {
    expect(behind(line)).toBe(line);
  });

  it('of no words is none', () => {
    expect(findCommand([])).toEqual({ at: 0, environment: {} });
  });

  it('is left as it is, whatever stands there', () => {
    const word = fc.oneof(
      fc.constantFrom('env', 'nice', 'timeout', '-n', '5', '--', '-', 'A=b', '-i', '-u', 'time', 'nohup'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(word), (argv) => {
        const { at } = findCommand(argv);
        expect(at === 0 || at < argv.length).toBe(true);
      }),
    );
  });
});

describe('the environment of the real command', () => {
  const after = (line: string) => findCommand(words(line), { HOME: '/h', A: '1' }).environment;

  it.each([
    ['nice program', { HOME: '/h', A: '1' }],
    ['env A=2 B=3 program A=4', { HOME: '/h', A: '2', B: '3' }],
    ['env -u A program', { HOME: '/h', A: undefined }],
    ['env -uA nice env B=x=y program', { HOME: '/h', A: undefined, B: 'x=y' }],
    ['env -i B=3 program', { PATH: '/bin:/usr/bin', B: '3' }],
    ['env -i -x program', { HOME: '/h', A: '1' }],
  ])('with `%s` is what that makes of it', (line, environment) => {
    expect(after(line)).toEqual(environment);
  });
});
