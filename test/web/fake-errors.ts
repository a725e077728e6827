import type { ErrorView } from '../../src/api/http-views.ts';

export function notFound(): ErrorView['error'] {
  return {
    code: 'not_found',
    message: 'There is no such session.',
    hint: 'List them: `reeve ls --all`',
    details: {},
  };
}

export function unauthorised(): ErrorView {
  return {
    error: { code: 'unauthorised', message: 'This browser is not known.', hint: 'reeve open', details: {} },
  };
}
