// A table that is searched, filtered, sorted, paged and exported. What a person searches, and how, stands in
// the address.
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight, Download, Search, SearchX } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { saveText, toCsv } from "../csv.ts";
import { useUrlValue } from "../use-url.ts";
import { Button, IconButton } from "./button.tsx";
import { Empty, Pending, Skeleton } from "./notice.tsx";
import { Select } from "./select.tsx";

const ICON = 16;
/** Rows that are drawn at once: so many are quick. */
const PAGE_ROWS = 250;
const SKELETON_ROWS = 3;
const SKELETON_PIXELS = 20;

export interface Column<Row> {
  id: string;
  title: string;
  /** Text or number that the column is searched, sorted and exported by. */
  value(row: Row): string | number;
  /** Shown in place of the value. */
  cell?(row: Row): ReactNode;
  /** Written into an exported file in place of the value. */
  text?(row: Row): string;
  isNumber?: boolean;
  /** Left out where there is little room. */
  isMinor?: boolean;
}

export interface Filter<Row> {
  id: string;
  /** Names it, and the choice that lets all through. */
  label: string;
  choices: readonly { value: string; label: string }[];
  accepts(row: Row, choice: string): boolean;
}

export interface TableWords {
  search: string;
  exportCsv: string;
  noMatch: string;
  noMatchHint: string;
  clear: string;
  previous: string;
  next: string;
  /** Rows that are shown of all, counted from 1. */
  range(first: number, last: number, total: number): string;
  count(count: number): string;
}

export interface DataTableProps<Row> {
  /** Names the table to who cannot see it, and an exported file. */
  name: string;
  words: TableWords;
  columns: readonly Column<Row>[];
  /** Undefined while they have not come. */
  rows: readonly Row[] | undefined;
  /** They will not come: a notice elsewhere says why. */
  isFailed?: boolean;
  keyOf(row: Row): string;
  filters?: readonly Filter<Row>[];
  /** Shown when there are no rows at all: says how to get the first one. */
  empty: ReactNode;
  /** Buttons at the end of a row. */
  actions?(row: Row): ReactNode;
  /** Id of the column that the rows are sorted by at first, with "-" in front when descending. */
  order: string;
  /** Tells its choices in the address from those of another table of the view. */
  urlPrefix?: string;
}

export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { name, words, columns, rows, isFailed = false, keyOf, filters = [], empty, actions, order } = props;
  const { urlPrefix = "" } = props;
  const [search, setSearch] = useUrlValue(`${urlPrefix}q`);
  const [sort, setSort] = useUrlValue(`${urlPrefix}sort`);
  const [turned, setTurned] = useState({ to: 1, of: "" });
  const chosen = useChoices(filters, `${urlPrefix}f`);
  if (rows === undefined) {
    return (
      <Pending isFailed={isFailed}>
        {Array.from({ length: SKELETON_ROWS }, (_, index) => (
          <Skeleton key={index} height={SKELETON_PIXELS} />
        ))}
      </Pending>
    );
  }
  if (rows.length === 0) return empty;

  const sortedBy = sort === "" ? order : sort;
  const found = sorted(
    rows.filter((row) => chosen.accepts(row) && isFound(row, columns, search)),
    columns,
    sortedBy,
  );
  const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
  // Another search or order begins at its first page.
  const of = JSON.stringify([search, sortedBy, chosen.values]);
  const page = turned.of === of ? Math.min(pages, turned.to) : 1;
  const shown = found.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const clear = (): void => {
    setSearch("");
    chosen.clear();
  };
  const save = (): void => {
    const lines = found.map((row) => columns.map((column) => column.text?.(row) ?? column.value(row)));
    saveText(`${name}.csv`, toCsv([columns.map(({ title }) => title), ...lines]), "text/csv");
  };
  return (
    <>
      <div className="table-bar">
        <SearchField label={words.search} value={search} change={setSearch} />
        {filters.map(({ id, label, choices }) => (
          <Select
            key={id}
            label={label}
            isLabelUnseen
            value={chosen.values[id] ?? ""}
            choices={[{ value: "", label }, ...choices]}
            change={(value) => chosen.choose(id, value)}
          />
        ))}
        <span className="small quiet count" role="status">
          {words.count(found.length)}
        </span>
        <IconButton label={words.exportCsv} icon={<Download size={ICON} aria-hidden="true" />} onClick={save} />
      </div>
      {found.length === 0 ? (
        <Empty
          icon={<SearchX size={28} aria-hidden="true" />}
          title={words.noMatch}
          action={<Button onClick={clear}>{words.clear}</Button>}
        >
          {words.noMatchHint}
        </Empty>
      ) : (
        <div className="table-scroll" role="region" aria-label={name} tabIndex={0}>
          <table className="table rows">
            <thead>
              <tr>
                {columns.map((column) => (
                  <HeadCell key={column.id} column={column} sortedBy={sortedBy} sort={setSort} />
                ))}
                {actions !== undefined && <td className="row-end" />}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map((column) => (
                    <td key={column.id} className={classOf(column)}>
                      {column.cell?.(row) ?? column.value(row)}
                    </td>
                  ))}
                  {actions !== undefined && <td className="row-end">{actions(row)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages > 1 && (
        <Pager words={words} page={page} pages={pages} total={found.length} turn={(to) => setTurned({ to, of })} />
      )}
    </>
  );
}

interface PagerProps {
  words: TableWords;
  page: number;
  pages: number;
  total: number;
  turn(page: number): void;
}

/** Turns the pages. A button that leads nowhere keeps the focus of who has just used it. */
function Pager({ words, page, pages, total, turn }: PagerProps): ReactNode {
  const first = (page - 1) * PAGE_ROWS + 1;
  const last = Math.min(page * PAGE_ROWS, total);
  return (
    <div className="table-pages">
      <Button
        icon={<ChevronLeft size={ICON} aria-hidden="true" />}
        aria-disabled={page === 1}
        onClick={() => turn(Math.max(1, page - 1))}
      >
        {words.previous}
      </Button>
      <span className="small quiet" role="status">
        {words.range(first, last, total)}
      </span>
      <Button
        icon={<ChevronRight size={ICON} aria-hidden="true" />}
        aria-disabled={page === pages}
        onClick={() => turn(Math.min(pages, page + 1))}
      >
        {words.next}
      </Button>
    </div>
  );
}

/** A field that searches while it is typed. */
export function SearchField(props: { label: string; value: string; change(value: string): void }): ReactNode {
  const { label, value, change } = props;
  const id = useId();
  return (
    <div className="search">
      <label htmlFor={id} className="unseen">
        {label}
      </label>
      <Search size={ICON} aria-hidden="true" />
      <input
        id={id}
        type="search"
        placeholder={label}
        value={value}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      />
    </div>
  );
}

function HeadCell<Row>(props: { column: Column<Row>; sortedBy: string; sort(by: string): void }): ReactNode {
  const { column, sortedBy, sort } = props;
  const isAscending = sortedBy === column.id;
  const isDescending = sortedBy === `-${column.id}`;
  return (
    <th
      scope="col"
      className={classOf(column)}
      aria-sort={isAscending ? "ascending" : isDescending ? "descending" : "none"}
    >
      <button type="button" onClick={() => sort(isAscending ? `-${column.id}` : column.id)}>
        {column.title}
        {isAscending && <ArrowUp size={12} aria-hidden="true" />}
        {isDescending && <ArrowDown size={12} aria-hidden="true" />}
      </button>
    </th>
  );
}

interface Choices<Row> {
  values: Readonly<Record<string, string>>;
  accepts(row: Row): boolean;
  choose(id: string, value: string): void;
  clear(): void;
}

/** All filters share one parameter, as "id:choice,id:choice". */
function useChoices<Row>(filters: readonly Filter<Row>[], parameter: string): Choices<Row> {
  const [text, setText] = useUrlValue(parameter);
  const values = Object.fromEntries(
    text
      .split(",")
      .map((part) => part.split(":"))
      .filter(([id, value]) => id !== undefined && value !== undefined),
  ) as Record<string, string>;
  return {
    values,
    accepts: (row) =>
      filters.every(({ id, accepts }) => {
        const value = values[id];
        return value === undefined || accepts(row, value);
      }),
    choose: (id, value) => {
      const next = Object.entries({ ...values, [id]: value }).filter(([, each]) => each !== "");
      setText(next.map((pair) => pair.join(":")).join(","));
    },
    clear: () => setText(""),
  };
}

function classOf<Row>({ isNumber = false, isMinor = false }: Column<Row>): string {
  return `${isNumber ? "number" : ""} ${isMinor ? "minor" : ""}`.trim();
}

function isFound<Row>(row: Row, columns: readonly Column<Row>[], search: string): boolean {
  const wanted = search.trim().toLowerCase();
  if (wanted === "") return true;
  return columns.some((column) =>
    String(column.text?.(row) ?? column.value(row))
      .toLowerCase()
      .includes(wanted),
  );
}

/** Returns the rows in order; a column that is not there changes nothing. */
export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], by: string): Row[] {
  const isDescending = by.startsWith("-");
  const column = columns.find(({ id }) => id === (isDescending ? by.slice(1) : by));
  if (column === undefined) return [...rows];
  const compare = (one: Row, other: Row): number => {
    const [a, b] = [column.value(one), column.value(other)];
    return typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true, sensitivity: "base" });
  };
  return rows.toSorted(isDescending ? (one, other) => compare(other, one) : compare);
}
