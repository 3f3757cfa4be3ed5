// The audit log as a table for spreadsheets (RFC 4180).
import type { AuditEntry } from "./audit-entry.ts";

const COLUMNS = ["n", "time", "who", "id", "name", "person", "address", "act", "object", "result", "count", "detail"];

export const CSV_HEADER = `${COLUMNS.join(",")}\r\n`;

export function csvRows(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${rowOf(entry).map(cell).join(",")}\r\n`).join("");
}

function rowOf({ n, atMs, who, act, object, result, count, detail }: AuditEntry): (string | number)[] {
  const { kind, id, name, person, address } = who;
  return [n, timeOf(atMs), kind, id, name, person, address, act, object, result, count, detail];
}

function timeOf(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? String(atMs) : date.toISOString();
}

/**
 * Clients choose their names: a text that a spreadsheet would take for a formula gets an apostrophe in front, and
 * characters that would break the row, or that nobody sees, become their escapes.
 */
function cell(value: string | number): string {
  const plain = String(value).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);
  const text = typeof value === "string" && /^[=+\-@]/.test(plain) ? `'${plain}` : plain;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
