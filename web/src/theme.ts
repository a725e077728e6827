/** Light or dark: what the system says, unless a person chose here. */
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'reeve.theme';
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };

export const theme = signal<Theme>('system');

export function startTheme(): void {
  const stored = read();
  apply(stored === 'light' || stored === 'dark' ? stored : 'system');
}

export function nextTheme(): void {
  apply(NEXT[theme.value]);
}

function apply(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
  write(chosen);
}

// A browser that keeps nothing for pages throws at the mere mention; then the choice lasts as long as the page.
function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function write(chosen: Theme): void {
  try {
    if (chosen === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // See `read`.
  }
}
