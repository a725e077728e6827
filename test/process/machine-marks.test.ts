/** What a machine says of itself, read from a directory such as the kernel's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machineMarks } from '../../src/process/machine-marks.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-marks-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `${text}\n`);
}

function card(name: string, address: string, assigned: string): void {
  put(`net/${name}/address`, address);
  put(`net/${name}/addr_assign_type`, assigned);
}

test('a machine is known by its board and by the cards whose addresses came with them, each once', () => {
  card('wlan0', '02:00:00:00:00:01', '0');
  card('eth0', '02:00:00:00:00:02', '0');
  // The same card by a second name.
  card('eth0.7', '02:00:00:00:00:02', '0');
  put('dmi/id/product_uuid', '4c4c4544-0001');
  expect(machineMarks(root)).toStrictEqual([
    'board 4c4c4544-0001',
    'card 02:00:00:00:00:01',
    'card 02:00:00:00:00:02',
  ]);
});

test.each([
  ['made up at random', () => card('wlan0', '02:00:00:00:00:01', '1')],
  ['taken from another card', () => card('bond0', '02:00:00:00:00:01', '2')],
  ['set by somebody', () => card('veth0', '02:00:00:00:00:01', '3')],
  ['of which nobody knows where it comes from', () => put('net/eth0/address', '02:00:00:00:00:01')],
  ['of the loopback', () => card('lo', '02:00:00:00:00:01', '0')],
  ['that is none', () => card('tun0', '00:00:00:00:00:00', '0')],
  ['that is empty', () => card('tun0', '', '0')],
])('an address %s says nothing about the machine', (_, prepare) => {
  prepare();
  expect(machineMarks(root)).toStrictEqual([]);
});

test('what cannot be read says nothing, and the rest is told', () => {
  mkdirSync(join(root, 'dmi/id/product_uuid'), { recursive: true });
  put('net/eth0/addr_assign_type', '0');
  mkdirSync(join(root, 'net/eth0/address'));
  card('eth1', '02:00:00:00:00:01', '0');
  expect(machineMarks(root)).toStrictEqual(['card 02:00:00:00:00:01']);
});

test('a machine without any of this has no marks', () => {
  expect(machineMarks(join(root, 'none'))).toStrictEqual([]);
});
