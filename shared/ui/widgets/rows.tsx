// A long list of which only what is seen is in the page: a grid (WAI-ARIA) of rows and cells. It is one stop of Tab;
// arrow keys go through its cells, Home, End and the page keys through its rows. A cell is stood for by its first link
// or button, or is focused itself.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type FocusEvent, type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef } from "react";

const PAGE_ROWS = 10;
/** Rows above and below those that are seen. */
const OVERSCAN = 12;
const CONTROLS = "a, button";
const CELLS = '[role="gridcell"]';

interface RowsProps {
  label: string;
  total: number;
  /** Height of each row in pixels. */
  height: number;
  /** Called with the rows that are wanted: from the first up to, not with, the second. */
  onRange(from: number, to: number): void;
  /** Shows the cells of a row, or the shape of those that have not come; each is a Cell. */
  children(index: number): ReactNode;
}

interface Place {
  row: number;
  cell: number;
}

/** A cell of a row. It has one link or button at most. */
export function Cell({ className = "", children }: { className?: string; children?: ReactNode }): ReactNode {
  return (
    <div role="gridcell" className={className}>
      {children}
    </div>
  );
}

export function Rows({ label, total, height, onRange, children }: RowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  /** The cell that Tab comes to. */
  const current = useRef<Place>({ row: 0, cell: 0 });
  /** That cell gets the focus as soon as it is in the page. */
  const isAwaited = useRef(false);
  const list = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: OVERSCAN,
  });
  const shown = list.getVirtualItems();
  const [from, to] = [shown[0]?.index ?? 0, (shown.at(-1)?.index ?? 0) + 1];
  useEffect(() => onRange(from, to), [from, to, onRange]);
  const land = (): void => {
    const grid = scroller.current;
    if (grid === null) return;
    setStop(grid, current.current);
    const target = targetsOf(rowOf(grid, current.current.row)).at(current.current.cell);
    if (!isAwaited.current || target === undefined) return;
    isAwaited.current = false;
    // A focus that went elsewhere meanwhile is not brought back.
    if (document.activeElement === document.body || grid.contains(document.activeElement)) target.focus();
  };
  useLayoutEffect(land);
  const goTo = (place: Place): void => {
    current.current = place;
    isAwaited.current = true;
    list.scrollToIndex(place.row);
    land();
  };
  const keyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const at = placeOf(event.currentTarget, event.target);
    if (at === undefined || event.altKey || event.metaKey) return;
    const { row, cell } = at;
    const next = {
      ArrowDown: { row: row + 1, cell },
      ArrowUp: { row: row - 1, cell },
      ArrowRight: { row, cell: cell + 1 },
      ArrowLeft: { row, cell: cell - 1 },
      PageDown: { row: row + PAGE_ROWS, cell },
      PageUp: { row: row - PAGE_ROWS, cell },
      Home: { row: 0, cell },
      End: { row: total - 1, cell },
    }[event.key];
    if (next === undefined) return;
    // A menu's button would open it by an arrow key.
    event.preventDefault();
    event.stopPropagation();
    const cells = targetsOf(rowOf(event.currentTarget, row)).length;
    goTo({ row: within(next.row, total), cell: within(next.cell, cells) });
  };
  const focused = (event: FocusEvent<HTMLDivElement>): void => {
    const at = placeOf(event.currentTarget, event.target);
    if (at === undefined) return;
    current.current = at;
    setStop(event.currentTarget, at);
  };

  return (
    <div ref={scroller} className="rows" onKeyDownCapture={keyDown} onFocus={focused}>
      <div role="grid" aria-label={label} aria-rowcount={total} style={{ height: list.getTotalSize() }}>
        {shown.map(({ index, start }) => (
          <div
            key={index}
            role="row"
            data-index={index}
            aria-rowindex={index + 1}
            style={{ height, transform: `translateY(${start}px)` }}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </div>
  );
}

function within(index: number, count: number): number {
  return Math.max(0, Math.min(count - 1, index));
}

function rowOf(grid: HTMLElement, row: number): HTMLElement | null {
  return grid.querySelector(`[data-index="${row}"]`);
}

/** Returns the element of each cell that is focused for it. */
function targetsOf(row: HTMLElement | null): HTMLElement[] {
  const cells = row?.querySelectorAll<HTMLElement>(CELLS) ?? [];
  return Array.from(cells, (cell) => cell.querySelector<HTMLElement>(CONTROLS) ?? cell);
}

/** @returns undefined when the element is in no cell, as one of a menu that floats above */
function placeOf(grid: HTMLElement, element: EventTarget): Place | undefined {
  if (!(element instanceof HTMLElement) || !grid.contains(element)) return undefined;
  const row = element.closest<HTMLElement>("[data-index]");
  const cell = targetsOf(row).findIndex((target) => target === element || target.contains(element));
  return row === null || cell < 0 ? undefined : { row: Number(row.dataset["index"]), cell };
}

/** Makes one cell that is in the page the stop of Tab: that of the place, or the first when it is not there. */
function setStop(grid: HTMLElement, { row, cell }: Place): void {
  const targets = [...grid.querySelectorAll<HTMLElement>("[data-index]")].flatMap(targetsOf);
  const stop = targetsOf(rowOf(grid, row)).at(cell) ?? targets[0];
  for (const target of targets) {
    target.tabIndex = target === stop ? 0 : -1;
    // A cell that has a button now was the stop itself before.
    if (!target.matches(CELLS)) target.closest(CELLS)?.removeAttribute("tabindex");
  }
}
