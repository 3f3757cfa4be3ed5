// Names and headers of the audit log's files [F180], and what a start finds in the last one [F182].
import { z } from "zod";
import { type AuditAct, type ReadLine, headOf, parseLine } from "./audit-entry.ts";

const FORMAT = 1;
const DIGITS = 12;
const NAME = /^(\d{12,16})\.jsonl$/;
const NEWLINE = 0x0a;

/** Wall-clock times of the earliest and the latest entry of a file, in milliseconds. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

const header = z.object({
  format: z.literal(FORMAT),
  before: z.object({ fromMs: z.number(), toMs: z.number() }).nullable(),
});
const anyHeader = z.object({ format: z.int().min(1) });

export function fileNameOf(first: number): string {
  return `${String(first).padStart(DIGITS, "0")}.jsonl`;
}

/** Returns the number of the first entry that the file may have; undefined for a name that is none of ours. */
export function firstOfName(name: string): number | undefined {
  const [, digits] = NAME.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** `before`: of the file before this one. */
export function headerOf(before: TimeRange | undefined): string {
  return `${JSON.stringify({ format: FORMAT, before: before ?? null })}\n`;
}

export interface FoundHeader {
  /** The format, when it is a newer one. */
  newer: number | undefined;
  before: TimeRange | undefined;
}

export function parseHeader(text: string): FoundHeader {
  const value = parsed(text.split("\n", 1)[0] ?? "");
  const format = anyHeader.safeParse(value).data?.format ?? FORMAT;
  return { newer: format > FORMAT ? format : undefined, before: header.safeParse(value).data?.before ?? undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Content of a file, as a start finds it. */
export interface FoundContent {
  /** Bytes up to the end of the last whole line. */
  wholeBytes: number;
  lastN: number;
  /** The act that was recorded last. */
  lastAct: AuditAct | undefined;
  range: TimeRange | undefined;
  /** Lines that are none. */
  damaged: number;
  /** Acts that were begun and have no outcome, by number. */
  begun: Map<number, ReadLine>;
}

export function scanContent(bytes: Uint8Array): FoundContent {
  const wholeBytes = bytes.lastIndexOf(NEWLINE) + 1;
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, wholeBytes).toString().split("\n").slice(1, -1);
  const found: FoundContent = {
    wholeBytes,
    lastN: 0,
    lastAct: undefined,
    range: undefined,
    damaged: 0,
    begun: new Map(),
  };
  for (const text of lines) {
    const line = headOf(text) === undefined ? undefined : parseLine(text);
    if (line === undefined) {
      found.damaged++;
      continue;
    }
    const { entry, step } = line;
    found.lastN = Math.max(found.lastN, entry.n);
    if (step?.is !== "begun") found.lastAct = entry.act;
    found.range = widened(found.range, entry.atMs);
    if (step?.is === "begun") found.begun.set(entry.n, line);
    if (step?.is === "outcome") found.begun.delete(step.of);
  }
  return found;
}

export function widened(range: TimeRange | undefined, ms: number): TimeRange {
  return { fromMs: Math.min(range?.fromMs ?? ms, ms), toMs: Math.max(range?.toMs ?? ms, ms) };
}
