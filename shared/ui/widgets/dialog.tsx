// A dialog that asks before something is done that cannot be taken back.
import { type ReactNode, useId, useState } from "react";
import { useModal } from "../use-modal.ts";
import { Button } from "./button.tsx";

interface ConfirmProps {
  title: string;
  /** Says what will happen, to whom, and whether it can be undone. */
  consequence: string;
  act: string;
  cancel: string;
  /** Choices that the act has. */
  children?: ReactNode;
  close(): void;
  confirm(): Promise<void>;
}

/** Is open as long as it is drawn; stays while the act is done, and says why when it is refused. */
export function Confirm(props: ConfirmProps): ReactNode {
  const { title, consequence, act, cancel, children, close, confirm } = props;
  const dialog = useModal();
  const id = useId();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await confirm();
      close();
    } catch (error) {
      setBusy(false);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      role="alertdialog"
      aria-labelledby={`${id}t`}
      aria-describedby={`${id}d`}
      onClose={close}
    >
      <h1 id={`${id}t`}>{title}</h1>
      <p id={`${id}d`}>{consequence}</p>
      {children}
      {problem !== "" && (
        <p role="alert" className="error">
          {problem}
        </p>
      )}
      <footer>
        <Button onClick={close}>{cancel}</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void run()}>
          {act}
        </Button>
      </footer>
    </dialog>
  );
}
