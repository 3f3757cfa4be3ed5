// runnel audit: who was let in or refused at the server that runs here, and who changed what.
import { type Clock, RealClock, RunnelError, sleep } from "@runnel/shared/base";
import type { AdminRequest, AdminResult } from "@runnel/server";
import type { Command } from "commander";
import { parseDuration } from "../duration.ts";
import { parseDate } from "../moment.ts";
import { formatTable } from "../format.ts";
import type { Output } from "../output.ts";
import { printable } from "../printable.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

export type Page = AdminResult<"audit">;
export type Entry = Page["entries"][number];
type Filter = AdminRequest<"audit">;

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1_000_000;
const PAGE_MAX = 500;
const FOLLOW_MS = 1_000;
const TITLES = ["time", "who", "act", "what", "result"];
/** Cells are cut to these, so that the table fits 80 characters. */
const WIDTHS = [19, 16, 12, 13, 12];

export function addAudit(program: Command, output: Output): void {
  addVerb(program, "audit", "Lists who was let in or refused and who changed what, for whoever runs the server.", [
    "audit",
    "audit --who ada-laptop --from 7d",
    "audit --act revoke --csv > revoked.csv",
  ])
    .option("--who <name>", "a device's id or name, a person, a user or an address")
    .option("--act <act>", "login, join, attach, request, invite, right, revoke, setting, serverStart, …")
    .option("--result <result>", "done, failed, or an error's kind: Denied, Revoked, Busy, …")
    .option("--from <time>", "from then on: 2026-11-24, 2026-11-24T18:00, or so long ago: 30m, 24h, 7d")
    .option("--to <time>", "before then")
    .option("--limit <count>", "how many entries, the newest (default: 100, with --csv all)")
    .option("--csv", "all that match, as a table for spreadsheets")
    .option("--follow", "what is there, then what comes, until Ctrl-C")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action((options: AuditOptions) => audit(options, output));
}

interface AuditOptions {
  who?: string;
  act?: string;
  result?: string;
  from?: string;
  to?: string;
  limit?: string;
  csv?: true;
  follow?: true;
  data?: string;
}

async function audit(options: AuditOptions, output: Output): Promise<void> {
  const clock = new RealClock();
  const forms = [options.csv === true, options.follow === true, output.isJson].filter(Boolean).length;
  if (forms > 1) throw invalid("Of --csv, --follow and --json only one can be. Leave the others out.");
  const filter = filterOf(options, clock);
  const limit = options.limit === undefined ? undefined : parseLimit(options.limit);
  const { askServer } = await import("@runnel/server/admin");
  const data = dataFolder(options.data);
  const ask = (more: Filter): Promise<Page> => askServer(data, "audit", { ...filter, ...more });
  if (options.csv === true) {
    const askCsv = (more: Filter): Promise<AdminResult<"auditCsv">> =>
      askServer(data, "auditCsv", { ...filter, ...more });
    await printCsv(askCsv, output, limit);
    return;
  }
  const page = await newest(ask, limit ?? LIMIT_DEFAULT);
  if (options.follow === true) await follow(ask, page, clock, output);
  else output.result(page, () => describeEntries(page.entries));
}

/** Passes on what is given, which is for the server to check, but for times. @throws RunnelError Invalid */
function filterOf({ who, act, result, from, to }: AuditOptions, clock: Clock): Filter {
  const given = { who, act, result, fromMs: parseTime(from, clock), toMs: parseTime(to, clock) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Filter;
}

/** Asks for page after page until there are so many entries. */
async function newest(ask: (more: Filter) => Promise<Page>, limit: number): Promise<Page> {
  const all: Page = { entries: [], after: null };
  do {
    const after = all.after === null ? {} : { after: all.after };
    const page = await ask({ ...after, limit: Math.min(limit - all.entries.length, PAGE_MAX) });
    all.entries.push(...page.entries);
    all.after = page.after;
  } while (all.after !== null && all.entries.length < limit);
  return all;
}

async function printCsv(
  ask: (more: Filter) => Promise<AdminResult<"auditCsv">>,
  output: Output,
  limit: number | undefined,
): Promise<void> {
  let after: number | null = null;
  let left = limit ?? Infinity;
  do {
    const page: AdminResult<"auditCsv"> = await ask({
      ...(after === null ? {} : { after }),
      limit: Math.min(left, PAGE_MAX),
    });
    output.print(page.csv);
    left -= page.count;
    after = page.after;
  } while (after !== null && left > 0);
}

/** Prints the oldest first from here on, until the command is ended. */
async function follow(ask: (more: Filter) => Promise<Page>, page: Page, clock: Clock, output: Output): Promise<never> {
  const print = (row: readonly string[]): void =>
    output.print(
      `${row
        .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
  print(TITLES);
  let above = 0;
  for (let { entries } = page; ;) {
    for (const entry of entries.toReversed()) print(rowOf(entry));
    above = entries[0]?.n ?? above;
    await sleep(clock, FOLLOW_MS);
    ({ entries } = await newest((more) => ask({ ...more, above }), LIMIT_MAX));
  }
}

export function describeEntries(entries: readonly Entry[]): string[] {
  if (entries.length === 0) return ["No entries."];
  return formatTable([TITLES, ...entries.map(rowOf)], "words");
}

function rowOf({ atMs, who, act, object, result, count }: Entry): string[] {
  const name = who.name || who.person || who.address || who.kind;
  const times = count === 1 ? result : `${count}× ${result}`;
  return [timeOf(atMs), name, act, object, times].map((cell, column) => short(printable(cell), WIDTHS[column] ?? 0));
}

/** The time here, as 2026-11-24 18:00:00. */
function timeOf(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

function short(cell: string, most: number): string {
  return cell.length <= most ? cell : `${cell.slice(0, most - 1)}…`;
}

/** Milliseconds of a day, of a time of day, or of so long ago. @throws RunnelError Invalid */
export function parseTime(typed: string | undefined, clock: Pick<Clock, "wallNs">): number | undefined {
  if (typed === undefined) return undefined;
  if (/^\d+[mhd]$/.test(typed)) return Number(clock.wallNs() / 1_000_000n) - parseDuration(typed);
  const ms = parseDate(typed);
  if (ms !== undefined) return ms;
  throw invalid(`"${typed}" is no time. Write 2026-11-24, 2026-11-24T18:00, or so long ago: 24h.`);
}

function parseLimit(typed: string): number {
  const limit = Number(typed);
  if (/^\d+$/.test(typed) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw invalid(`"${typed}" is no count of entries. Write one from 1 to ${LIMIT_MAX}: ${LIMIT_DEFAULT}.`);
}

function invalid(sentence: string): RunnelError {
  return new RunnelError("Invalid", "read the command", sentence);
}
