/** The signals that end, suspend and continue a program with a screen. */
export interface SignalUser {
  /** To end with this exit code, 128 and the signal's number, as shells have it. */
  end(code: number): void;
  /** The process is about to stop: the terminal is to be as others expect it. */
  suspended(): void;
  continued(): void;
}

export interface Signals {
  suspend(): void;
  stop(): void;
}

export const HANGUP_CODE = 129;
const ENDING = [
  ['SIGHUP', HANGUP_CODE],
  ['SIGINT', 130],
  ['SIGQUIT', 131],
  ['SIGTERM', 143],
] as const;

/** A signal sent to oneself has stopped the process by then; time does not pass for what is stopped. */
const STOPPED_BY_MS = 50;

export function listenToSignals(user: SignalUser): Signals {
  const ending = ENDING.map(([signal, code]) => ({ signal, listener: () => user.end(code) }));
  const onContinue = () => user.continued();
  const suspend = () => {
    user.suspended();
    process.off('SIGTSTP', suspend).off('SIGCONT', onContinue);
    // With nobody listening it does what it does by default: it stops, unless nobody is there who could continue it.
    process.kill(process.pid, 'SIGTSTP');
    setTimeout(() => {
      process.on('SIGTSTP', suspend).on('SIGCONT', onContinue);
      user.continued();
    }, STOPPED_BY_MS);
  };
  process.on('SIGTSTP', suspend).on('SIGCONT', onContinue);
  for (const { signal, listener } of ending) process.on(signal, listener);
  return {
    suspend,
    stop: () => {
      process.off('SIGTSTP', suspend).off('SIGCONT', onContinue);
      for (const { signal, listener } of ending) process.off(signal, listener);
    },
  };
}
