import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

/** A modal dialog of the browser's own: it traps the focus, closes on Escape and gives the focus back. */
export function Dialog({
  title,
  close,
  children,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // Taken out of the document while open, it would not give the focus back by itself.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onClose={close}
      onClick={(event) => {
        // Only the backdrop is the dialog itself; everything in it is inside the box.
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="box">
        <h2 id={titleId}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
