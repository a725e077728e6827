/** Colours where the stream is a terminal that has them; https://no-color.org and FORCE_COLOR are heeded. */
type Paint = (text: string) => string;

const isPlain = (process.env['NO_COLOR'] ?? '') !== '' || process.env['TERM'] === 'dumb';
const isForced = (process.env['FORCE_COLOR'] ?? '0') !== '0';

function paint(stream: NodeJS.WriteStream, open: number, close: number): Paint {
  const isOn = isForced || (stream.isTTY && !isPlain);
  return (text) => (isOn ? `\u001B[${open}m${text}\u001B[${close}m` : text);
}

export const bold = paint(process.stdout, 1, 22);
export const dim = paint(process.stdout, 2, 22);
export const red = paint(process.stdout, 31, 39);
export const green = paint(process.stdout, 32, 39);
export const yellow = paint(process.stdout, 33, 39);
export const magenta = paint(process.stdout, 35, 39);
export const cyan = paint(process.stdout, 36, 39);
export const gray = paint(process.stdout, 90, 39);

export const errorRed = paint(process.stderr, 31, 39);
export const errorDim = paint(process.stderr, 2, 22);
