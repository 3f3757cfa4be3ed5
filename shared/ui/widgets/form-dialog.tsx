// A dialog with a form: it stays while what it asks for is done, and says why when it is refused.
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { useModal } from "../use-modal.ts";
import { Button } from "./button.tsx";

interface FormDialogProps {
  title: string;
  act: string;
  cancel: string;
  isDisabled?: boolean;
  children: ReactNode;
  close(): void;
  /** Does it. The dialog closes afterwards unless this resolves to "stay". */
  submit(): Promise<"stay" | void>;
}

/** Is open as long as it is drawn. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, act, cancel, isDisabled = false, children, close, submit } = props;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      if ((await submit()) !== "stay") close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const submitted = (event: FormEvent): void => {
    event.preventDefault();
    void run();
  };
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submitted}>
        {children}
        {problem !== "" && (
          <p role="alert" className="error">
            {problem}
          </p>
        )}
        <footer>
          <Button onClick={close}>{cancel}</Button>
          <Button type="submit" look="primary" disabled={isBusy || isDisabled}>
            {act}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The frame of a dialog, for what is no form. */
export function Dialog({ title, close, children }: { title: string; close(): void; children: ReactNode }): ReactNode {
  const dialog = useModal();
  const id = useId();
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={id} onClose={close}>
      <h1 id={id}>{title}</h1>
      {children}
    </dialog>
  );
}
