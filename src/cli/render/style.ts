/** Colours where the stream is a terminal that has them; https://no-color.org and FORCE_COLOR are heeded. */
type Paint = (text: string) => string;

const isPlain = (process.env['NO_COLOR'] ?? '') !== '' || process.env['TERM'] === 'dumb';
const isForced = (process.env['FORCE_COLOR'] ?? '0') !== '0';

/**
 * Stands in each colour of ours until it is printed, and is another one in each process: so a colour that came with the
 * text of others, a path's for instance, is never taken for one of ours.
 */
const OWN = `${process.pid}x${Math.random().toString(36).slice(2)}`;
const OWN_BEGIN = `\u001B${OWN}[`;

/** As the source of a regular expression. */
export const OWN_STYLE = String.raw`\u001B${OWN}\[\d+m`;

/** As a terminal understands it. */
export function styled(text: string): string {
  return text.replaceAll(OWN_BEGIN, '\u001B[');
}

/** The stream is looked at with the first word for it: to make one takes Node longer than most answers. */
function paint(stream: 'stdout' | 'stderr', open: number, close: number): Paint {
  const isOn = () => isForced || (process[stream].isTTY && !isPlain);
  return (text) => (isOn() ? `${OWN_BEGIN}${open}m${text}${OWN_BEGIN}${close}m` : text);
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
