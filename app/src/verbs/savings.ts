// runnel savings: what programs worked with, what crossed the wire for it, and where the rest came from; since the
// beginning, whatever was mounted when.
import { Option } from "commander";
import { z } from "zod";
import { thisSystem } from "../agent/control/host/this-system.ts";
import type { Ledger } from "../agent/view/ledger.ts";
import type { Counts } from "../agent/view/meter.ts";
import { csvOf, HOUR_MS, type Savings, savingsOf, sumOf, wireBytes, workedBytes } from "../agent/view/savings.ts";
import { askAgent } from "../cli/agent-connection.ts";
import { formatBytes, formatSaved, formatTable, formatTime } from "../cli/format.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { count, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const LIMIT_MAX = 1_000;
const SHOWN = 20;
const CSV_ROWS = 500;
const GROUPS = ["hour", "day", "drive", "folder"] as const;

const SavingsSchema: z.ZodType<Savings> = z.object({
  readBytes: count,
  writtenBytes: count,
  sentBytes: count,
  receivedBytes: count,
  saved: z.object({
    oldVersion: count,
    otherFile: count,
    compression: count,
    colleague: count,
    stick: count,
    oldFolder: count,
    cache: count,
  }),
  savedPercent: count,
});

const schemas = {
  /**
   * `sinceMs`: left out: since the beginning. `by`: how rows are told apart; hours and days: the newest first, drives
   * and folders: the most used first.
   */
  asks: z.object({
    mountpoint: text.optional(),
    sinceMs: count.optional(),
    by: z.enum(GROUPS).optional(),
    limit: z.int().min(1).max(LIMIT_MAX),
  }),
  gives: z.object({
    today: SavingsSchema,
    total: SavingsSchema,
    rows: z.array(
      z.object({
        fromMs: count.nullable(),
        url: text,
        mountpoint: text,
        folder: z.string(),
        savings: SavingsSchema,
      }),
    ),
  }),
};

type Given = z.infer<typeof schemas.gives>;

export const savings = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, sinceMs = 0, by, limit }) {
    const ledger = await agent.history.ledger();
    const query = { sinceMs, mountpoint };
    const nowMs = Number(agent.deps.clock.wallNs() / 1_000_000n);
    const today = savingsOf(ledger.total({ mountpoint, sinceMs: midnight(nowMs) }));
    const total = savingsOf(ledger.total(query));
    if (by === undefined) return { today, total, rows: [] };
    if (by === "drive" || by === "folder") {
      const rows = by === "drive" ? ledger.byDrive(query, limit) : ledger.byFolder(query, limit);
      const shown = rows.map(({ counts, ...row }) => ({ ...row, fromMs: null, savings: savingsOf(counts) }));
      return { today, total, rows: shown };
    }
    const hours = ledger.byHour(query).map(({ hour, counts }) => ({ fromMs: hour * HOUR_MS, counts }));
    const times = by === "hour" ? hours : days(hours);
    const place = { url: "", mountpoint: mountpoint ?? "", folder: "" };
    const newest = times.slice(-limit).toReversed();
    const shown = newest.map(({ fromMs, counts }) => ({ ...place, fromMs, savings: savingsOf(counts) }));
    return { today, total, rows: shown };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "savings",
      "Shows what programs worked with and what crossed the wire for it, since\nthe beginning.",
      ["savings", "savings --by day", "savings --csv > savings.csv"],
    )
      .argument("[mountpoint]", "one drive, mounted or not (default: all)")
      .addOption(new Option("--by <what>", "a table, by what").choices(GROUPS))
      .option("--csv", "all that is known, by hour, drive and folder, for a spreadsheet")
      .action(async (asked: string | undefined, options: { by?: (typeof GROUPS)[number]; csv?: true }) => {
        if (options.csv) {
          await askAgent("savingsCsv", csvSchemas, { sinceMs: 0 }, ({ csv }) => output.print(csv));
          return;
        }
        const mountpoint = asked === undefined ? undefined : absolutePath(asked);
        const request = { mountpoint, by: options.by, limit: SHOWN };
        const result = await askAgent("savings", schemas, request);
        output.result(result, () => describeSavings(result, options.by));
      });
  },
});

const csvSchemas = {
  asks: z.object({ sinceMs: count }),
  part: z.object({ csv: z.string() }),
  gives: z.object({}),
};

/** The whole ledger as a text for spreadsheets, in parts. */
export const savingsCsv = agentVerb(csvSchemas, {
  async handle(agent, { sinceMs }, call) {
    const ledger = await agent.history.ledger();
    for (const csv of csvPages(ledger, sinceMs)) {
      await call.part({ csv });
      if (call.signal.aborted) break;
    }
    return {};
  },
});

/** The ledger since a time as a text for spreadsheets, in parts; with its titles, also where it is empty. */
export function* csvPages(ledger: Ledger, sinceMs: number): Generator<string> {
  let isFirst = true;
  for (const rows of ledger.pages(sinceMs, CSV_ROWS)) {
    yield csvOf(rows, isFirst);
    isFirst = false;
  }
  if (isFirst) yield csvOf([], true);
}

/** Returns when the day of a time began, in this computer's time zone. */
function midnight(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

/** Sums hours to days of this computer's time zone. */
function days(hours: readonly { fromMs: number; counts: Counts }[]): { fromMs: number; counts: Counts }[] {
  const byDay = Map.groupBy(hours, ({ fromMs }) => midnight(fromMs));
  return [...byDay].map(([fromMs, some]) => ({ fromMs, counts: sumOf(some.map(({ counts }) => counts)) }));
}

const ORIGINS: Record<keyof Savings["saved"], string> = {
  oldVersion: "from old versions of the same file",
  otherFile: "from other files that the server has",
  compression: "by compression",
  colleague: "from colleagues",
  stick: "from sticks",
  oldFolder: "from old folders",
  cache: "read or written here again",
};

export function describeSavings({ today, total, rows }: Given, by: (typeof GROUPS)[number] | undefined): string[] {
  const lines = [`Today: ${sentenceOf(today)}`, `In all: ${sentenceOf(total)}`];
  const origins = Object.entries(ORIGINS).map(([origin, words]) => {
    return [`  ${words}`, formatBytes(total.saved[origin as keyof Savings["saved"]])];
  });
  lines.push(...formatTable(origins.filter(([, bytes]) => bytes !== formatBytes(0))));
  if (by === undefined || rows.length === 0) return lines;
  const titles = [by, "worked with", "crossed", "saved"];
  const table = rows.map((row) => [
    nameOf(row, by),
    formatBytes(workedBytes(row.savings)),
    formatBytes(wireBytes(row.savings)),
    formatSaved(row.savings.savedPercent),
  ]);
  return [...lines, "", ...formatTable([titles, ...table])];
}

function sentenceOf(sums: Savings): string {
  const worked = `programs worked with ${formatBytes(workedBytes(sums))}`;
  return `${worked}; ${formatBytes(wireBytes(sums))} crossed the wire. Saved: ${formatSaved(sums.savedPercent)}`;
}

function nameOf({ fromMs, url, mountpoint, folder }: Given["rows"][number], by: (typeof GROUPS)[number]): string {
  if (fromMs !== null) return by === "hour" ? formatTime(fromMs) : formatTime(fromMs).slice(0, 10);
  const drive = mountpoint === "" ? url || "other drives" : mountpoint;
  if (by === "drive") return drive;
  if (folder === "") return `${drive} (as a whole)`;
  return mountpoint === "" ? `${drive}/${folder}` : thisSystem.paths.onDrive(mountpoint, folder);
}
