/** How long a server that cannot be reached is waited for, and who is told meanwhile. */
export interface Patience {
  readonly forMs: number;
  readonly tell?: (words: string) => void;
}
