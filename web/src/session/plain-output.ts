// Control sequences (colours, cursor), operating system commands (titles, links) and other escapes.
// oxlint-disable-next-line no-control-regex -- they are what is looked for.
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])/g;

/** What a terminal would have left of it as text: no escape sequences, and of a line written over, the last version. */
export function plainOutput(raw: string): string {
  return raw
    .replaceAll(ESCAPES, '')
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1).replaceAll('\r', ''))
    .join('\n');
}
