// A long list of which only what is seen is in the page. Arrow keys, Home, End and the page keys go through its rows;
// the first link or button of a row has the focus.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";

const PAGE_ROWS = 10;
/** Rows above and below those that are seen. */
const OVERSCAN = 12;

interface RowsProps {
  label: string;
  total: number;
  /** Height of each row in pixels. */
  height: number;
  /** Called with the rows that are wanted: from the first up to, not with, the second. */
  onRange(from: number, to: number): void;
  /** Shows a row, or the shape of one that has not come. */
  children(index: number): ReactNode;
}

export function Rows({ label, total, height, onRange, children }: RowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
  });
  const shown = list.getVirtualItems();
  const [from, to] = [shown[0]?.index ?? 0, (shown.at(-1)?.index ?? 0) + 1];
  useEffect(() => onRange(from, to), [from, to, onRange]);

  const focus = (index: number): void => {
    list.scrollToIndex(index);
    const row = (): HTMLElement | null | undefined => scroller.current?.querySelector(`[data-index="${index}"]`);
    const take = (tries: number): void => {
      const target = row()?.querySelector<HTMLElement>("a, button");
      if (target) target.focus();
      else if (tries > 0) requestAnimationFrame(() => take(tries - 1));
    };
    take(10);
  };
  const keyDown = (event: KeyboardEvent): void => {
    const at = (event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset["index"];
    if (at === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = {
      ArrowDown: Number(at) + 1,
      ArrowUp: Number(at) - 1,
      PageDown: Number(at) + PAGE_ROWS,
      PageUp: Number(at) - PAGE_ROWS,
      Home: 0,
      End: total - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    focus(Math.max(0, Math.min(total - 1, next)));
  };

  return (
    <div ref={scroller} className="rows" onKeyDown={keyDown}>
      <ul aria-label={label} style={{ height: list.getTotalSize() }}>
        {shown.map(({ index, start }) => (
          <li
            key={index}
            data-index={index}
            aria-setsize={total}
            aria-posinset={index + 1}
            style={{ height, transform: `translateY(${start}px)` }}
          >
            {children(index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
