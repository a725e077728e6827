import { Fragment } from 'preact';
import { isHelpOpen, KEYS } from '../keys.ts';
import { STATUS_GROUPS, MARKS } from '../../../src/api/status-words.ts';
import { Dialog } from './dialog.tsx';
import { StatusMark } from './status-mark.tsx';

export function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const close = () => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keys and marks" close={close}>
      <dl class="keys">
        {KEYS.map(([key, meaning]) => (
          <Fragment key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
      <ul class="marks" role="list">
        {STATUS_GROUPS.flatMap(({ statuses }) => statuses).map((status) => (
          <li key={MARKS[status]}>
            <StatusMark status={status} /> {status}
          </li>
        ))}
      </ul>
      <div class="buttons">
        <button type="button" class="main" onClick={close} autofocus>
          Close
        </button>
      </div>
    </Dialog>
  );
}
