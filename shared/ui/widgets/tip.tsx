// A tip that floats beside what is pointed at or has the keyboard.
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";

const DELAY_MS = 400;

export function TipProvider({ children }: { children: ReactNode }): ReactNode {
  return <Tooltip.Provider delayDuration={DELAY_MS}>{children}</Tooltip.Provider>;
}

export function Tip({ text, children }: { text: string; children: ReactNode }): ReactNode {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className="tooltip" sideOffset={4} collisionPadding={8}>
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
