// A long list of which only the rows in sight are in the page: 100,000 rows cost as much as fifty. The arrow keys, Page Up and Down, Home and End move; one
// row at a time can be reached by Tab.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";

interface RowsProps {
  label: string;
  /** Rows in all, of which the page need not know more than those in sight. */
  count: number;
  rowPixels: number;
  heightPixels: number | string;
  /** Draws a row; where it is not known yet, a shape of its size. */
  row(index: number): ReactNode;
  /** Is told which rows are in sight, so that they can be asked for. */
  inSight?(from: number, to: number): void;
  open?(index: number): void;
}

const BEYOND = 8;

export function Rows({ label, count, rowPixels, heightPixels, row, inSight, open }: RowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  const isMoving = useRef(false);
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowPixels,
    overscan: BEYOND,
  });
  const items = list.getVirtualItems();
  const [from, to] = [items[0]?.index ?? 0, (items.at(-1)?.index ?? -1) + 1];
  useEffect(() => inSight?.(from, to), [from, to, inSight]);
  useEffect(() => {
    if (!isMoving.current) return;
    const target = scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${current + 1}"]`);
    if (target === null || target === undefined) return;
    isMoving.current = false;
    target.focus({ preventScroll: true });
  });

  const move = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowPixels) - 1);
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: count - 1,
    };
    if (event.key === "Enter") open?.(current);
    const target = steps[event.key];
    if (target === undefined || event.target !== event.currentTarget.querySelector(":focus")) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, target));
    isMoving.current = true;
    list.scrollToIndex(next);
    setCurrent(next);
  };

  return (
    <div
      ref={scroller}
      className="rows"
      role="grid"
      aria-label={label}
      aria-rowcount={count}
      style={{ height: heightPixels }}
      onKeyDown={move}
    >
      <div role="rowgroup" style={{ height: list.getTotalSize() }}>
        {items.map(({ index, start, size }) => (
          <div
            key={index}
            role="row"
            aria-rowindex={index + 1}
            tabIndex={index === Math.min(current, count - 1) ? 0 : -1}
            style={{ height: size, transform: `translateY(${start}px)` }}
            onFocus={() => setCurrent(index)}
            onDoubleClick={() => open?.(index)}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
