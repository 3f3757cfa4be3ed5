// Figures and tables as a person reads them.
import prettyBytes from "pretty-bytes";

export function formatBytes(bytes: number): string {
  return prettyBytes(Math.round(bytes), { binary: true });
}

export function formatPercent(percent: number): string {
  return `${Math.round(percent)} %`;
}

/** Share of what programs wrote and read that crossed no wire; negative when more crossed than was moved. */
export function formatSaved(percent: number): string {
  return percent < 0 ? "nothing" : formatPercent(percent);
}

/** Columns aligned: the first to the left, figures to the right, words to the left. */
export function formatTable(rows: readonly (readonly string[])[], others: "figures" | "words" = "figures"): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  const aligned = (cell: string, column: number): string =>
    column === 0 || others === "words" ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(aligned).join("  ").trimEnd());
}

/** Time of this computer's zone: "2026-11-24 18:30". */
export function formatTime(ms: number): string {
  const time = new Date(ms);
  const two = (count: number): string => String(count).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`;
}

export function formatCount(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Says how the cache of a drive gets more space. */
export function moreSpaceFor(mountpoint: string): string {
  return `More space for the cache: runnel set ${mountpoint} --cache-size SIZE`;
}

interface UnsentOrUnknown {
  unsentFiles: number | null;
  unsentNames: number | null;
}

/** Lines of an ended drive about what it could not send; none when that is nothing. */
export function unsentLines({ unsentFiles, unsentNames }: UnsentOrUnknown): string[] {
  const [files, names] = [unsentFiles ?? 0, unsentNames ?? 0];
  if (files + names === 0) return [];
  const what =
    names === 0
      ? formatCount(files, "file was", "files were")
      : formatCount(files + names, "change was", "changes were");
  return [`${what} not sent; kept here, and sent when the drive is mounted at the same place again.`];
}
