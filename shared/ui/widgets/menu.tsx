// A menu that opens from a button.
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useRef } from "react";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  isDangerous?: boolean;
  isDisabled?: boolean;
  choose(): void;
}

/** `children`: the one button that opens it. */
export function Menu({ items, children }: { items: readonly MenuItem[]; children: ReactNode }): ReactNode {
  const button = useRef<HTMLButtonElement>(null);
  const chosen = useRef<() => void>(undefined);
  // Acts once the button has the focus again, so that a dialog gives it back to the button.
  const closed = (event: Event): void => {
    const act = chosen.current;
    if (act === undefined) return;
    chosen.current = undefined;
    event.preventDefault();
    button.current?.focus();
    act();
  };
  return (
    // A menu that locks the page behind it would put a style into it, which the page's policy forbids.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger ref={button} asChild>
        {children}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className="menu"
          align="end"
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={closed}
        >
          {items.map(({ label, icon, isDangerous = false, isDisabled = false, choose }) => (
            <DropdownMenu.Item
              key={label}
              className={isDangerous ? "danger" : ""}
              disabled={isDisabled}
              onSelect={() => {
                chosen.current = choose;
              }}
            >
              {icon}
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
