/** Colours where the stream is a terminal that has them; https://no-color.org and FORCE_COLOR are heeded. */
type Paint = (text: string) => string;

const isPlain = (process.env['NO_COLOR'] ?? '') !== '' || process.env['TERM'] === 'dumb';
const isForced = (process.env['FORCE_COLOR'] ?? '0') !== '0';

/** The stream is looked at with the first word for it: to make one takes Node longer than most answers. */
function paint(stream: 'stdout' | 'stderr', open: number, close: number): Paint {
  const isOn = () => isForced || (process[stream].isTTY && !isPlain);
  return (text) => (isOn() ? `\u001B[${open}m${text}\u001B[${close}m` : text);
}

export const bold = paint('stdout', 1, 22);
export const dim = paint('stdout', 2, 22);
export const inverse = paint('stdout', 7, 27);
export const red = paint('stdout', 31, 39);
export const green = paint('stdout', 32, 39);
export const yellow = paint('stdout', 33, 39);
export const magenta = paint('stdout', 35, 39);
export const cyan = paint('stdout', 36, 39);
export const gray = paint('stdout', 90, 39);

export const errorRed = paint('stderr', 31, 39);
export const errorDim = paint('stderr', 2, 22);
