import { randomBytes } from 'node:crypto';

/** 80 random bits in an alphabet without look-alikes: short beginnings of ids are unique in practice. */
export function newId(kind: 'r' | 's' | 'sub' | 'rev'): string {
  const alphabet = 'abcdefghjkmnpqrstvwxyz0123456789';
  return `${kind}-${Array.from(randomBytes(16), (byte) => alphabet[byte % 32]).join('')}`;
}
