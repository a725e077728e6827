/**
 * What the model does is written in the prompt, between pairs of @@:
 *
 *   SAY text          answers with this text
 *   SLOW seconds      answers with text that takes that long
 *   RUN command       calls the harness's own shell tool
 *   TOOL name {json}  calls any tool
 *   HANG              accepts the request and never answers
 *   FAIL status       refuses with that HTTP status, in the shape of the API
 *   CUT               breaks the connection in the middle of the answer
 *
 * The markers are carried out in order. A call ends a model turn, and its result brings the next request; so the number
 * of results since the prompt says how far we are, and the server need not remember anything, not even across restarts
 * and resumes. Text in front of a call is part of the same turn, as real models do it. When nothing is left: "ok".
 */
type Step =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'slow'; readonly forMs: number }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'tool'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'hang' }
  | { readonly kind: 'fail'; readonly status: number }
  | { readonly kind: 'cut' };

export interface Turn {
  readonly pieces: readonly string[];
  /** The time between two pieces. */
  readonly paceMs: number;
  readonly end: Exclude<Step, { kind: 'say' | 'slow' }> | null;
}

/** Often enough that a slow answer visibly streams. */
const SLOW_PIECE_MS = 250;

const MARKER = /@@\s*(SAY|SLOW|RUN|TOOL|HANG|FAIL|CUT)\b\s*([\s\S]*?)@@/gu;

export function turnOf(prompt: string, results: number): Turn {
  const steps = stepsOf(prompt);
  const calls = steps.flatMap((step, index) => (step.kind === 'run' || step.kind === 'tool' ? [index] : []));
  const from = results === 0 ? 0 : (calls[results - 1] ?? steps.length - 1) + 1;
  const pieces: string[] = [];
  let paceMs = 0;
  for (const step of steps.slice(from)) {
    if (step.kind === 'say') {
      pieces.push(step.text);
    } else if (step.kind === 'slow') {
      paceMs = SLOW_PIECE_MS;
      pieces.push(...slowText(step.forMs));
    } else {
      return { pieces, paceMs, end: step };
    }
  }
  return { pieces: pieces.length === 0 ? ['ok'] : pieces, paceMs, end: null };
}

function stepsOf(prompt: string): Step[] {
  return [...prompt.matchAll(MARKER)].map(([, word = '', rest = '']) => stepOf(word, rest.trim()));
}

function stepOf(word: string, rest: string): Step {
  switch (word) {
    case 'SAY':
      return { kind: 'say', text: rest };
    case 'SLOW':
      return { kind: 'slow', forMs: Number(rest) * 1000 };
    case 'RUN':
      return { kind: 'run', command: rest };
    case 'TOOL': {
      const name = rest.split(/\s/u, 1)[0] ?? '';
      return { kind: 'tool', name, input: JSON.parse(rest.slice(name.length).trim() || '{}') };
    }
    case 'FAIL':
      return { kind: 'fail', status: Number(rest) };
    case 'HANG':
      return { kind: 'hang' };
    default:
      return { kind: 'cut' };
  }
}

function slowText(forMs: number): string[] {
  return Array.from({ length: Math.ceil(forMs / SLOW_PIECE_MS) }, (_, index) => `slow ${index} `);
}
