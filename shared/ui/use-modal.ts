// Dialogs: the browser's own element keeps the keyboard inside, closes by Escape and makes the page behind it inert.
import { type RefObject, useLayoutEffect, useRef } from "react";

/** Opens a dialog for as long as it is drawn. What had the focus before has it again afterwards. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // It closes before it is taken out of the page: an element that is gone gives no focus back.
    return () => element?.close();
  }, []);
  return dialog;
}
