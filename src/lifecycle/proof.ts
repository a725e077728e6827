/**
 * How it is known that a run is over. Only `kernel` is called proven: the kernel's own word covers every way out of the
 * run's tree. Everything else says what was seen, or who said it.
 */
export type Proof =
  /** The tree was seen gone, and the kernel confirms it; or the machine was restarted since. */
  | 'kernel'
  /** No process of it was found, and nothing confirms that there is none. */
  | 'not_seen'
  /** Its host must have ended it by now. */
  | 'lease'
  /** A person said so. */
  | 'word';

/** As the end of a sentence about the run. */
export const PROOF_WORDS: Readonly<Record<Proof, string>> = {
  kernel: 'its process tree was proven gone',
  not_seen: 'no process of it was found, which the kernel does not confirm',
  lease: 'its host must have ended it by now',
  word: 'a person said that it is gone',
};
