// Dialogs: one that holds a form, and one that asks before something is done that cannot be taken back.
import { AlertDialog, Dialog as Radix } from "radix-ui";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";

interface DialogProps {
  title: string;
  isOpen: boolean;
  close(): void;
  children: ReactNode;
}

export function Dialog({ title, isOpen, close, children }: DialogProps): ReactNode {
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && close()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content className="dialog" aria-describedby={undefined}>
          <Radix.Title asChild>
            <h1>{title}</h1>
          </Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ConfirmProps {
  title: string;
  /** Says what will happen, to whom, and whether it can be undone. */
  consequence: string;
  act: string;
  cancel: string;
  isOpen: boolean;
  close(): void;
  confirm(): Promise<void>;
}

/** Asks before a destructive act; stays open while it is done, and says why when it is refused. */
export function Confirm({ title, consequence, act, cancel, isOpen, close, confirm }: ConfirmProps): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await confirm();
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && close()}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <AlertDialog.Content className="dialog">
          <AlertDialog.Title asChild>
            <h1>{title}</h1>
          </AlertDialog.Title>
          <AlertDialog.Description>{consequence}</AlertDialog.Description>
          {problem !== "" && (
            <p role="alert" className="error">
              {problem}
            </p>
          )}
          <footer>
            <AlertDialog.Cancel asChild>
              <Button>{cancel}</Button>
            </AlertDialog.Cancel>
            <Button look="danger" disabled={isBusy} onClick={() => void run()}>
              {act}
            </Button>
          </footer>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
