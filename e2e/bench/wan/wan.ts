// `wan`: what work on a server's folder costs over a slow line, beside rsync and sshfs through the same emulator: time,
// bytes each way, and turnarounds (bursts of the client that the server answered).
import { cpSync } from "node:fs";
import { type LinkShape, Sandbox, quiet } from "../../src/harness/index.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { type Sizes, SIZES, makeMaterial } from "./material.ts";
import { type Running, SYSTEMS, type System } from "./systems.ts";
import { type Work, workOf } from "./work.ts";

interface Line {
  name: string;
  about: string;
  shape: LinkShape;
  /** The largest set of work that this line can be asked for: with more it would take hours. */
  most: keyof typeof SIZES;
}

export const LINES: readonly Line[] = [
  { name: "lan", about: "1 Gbit/s, 0.5 ms", shape: shapeOf(1000, 1000, 0.5), most: "full" },
  { name: "30ms", about: "30 ms, 20 Mbit/s up, 100 down", shape: shapeOf(20, 100, 30), most: "full" },
  { name: "100ms", about: "100 ms, 100 Mbit/s", shape: shapeOf(100, 100, 100), most: "full" },
  {
    name: "cable",
    about: "LBFS's: 30 ms, 384 kbit/s up, 1.5 Mbit/s down",
    shape: shapeOf(0.384, 1.5, 30),
    most: "small",
  },
];

function shapeOf(upMbit: number, downMbit: number, rttMs: number): LinkShape {
  return { upBitsPerSecond: upMbit * 1e6, downBitsPerSecond: downMbit * 1e6, rttMs };
}

export interface WanRow {
  line: string;
  /** Size of the work: "full", "small", "tiny". */
  size: string;
  what: string;
  system: string;
  seconds: number;
  upBytes: number;
  downBytes: number;
  turnarounds: number;
  /** Why there are no figures. */
  failed?: string;
}

const WORK_MS = 30 * 60_000;
const PLACE_MS = 6 * 3_600_000;
const ORDER = ["tiny", "small", "full"] as const;

export const wanBenchmark: Benchmark = {
  name: "wan",
  about: "work over slow lines, beside rsync and sshfs; --only LINE or SYSTEM, --size full|small|tiny",
  async run(context: BenchContext): Promise<Result> {
    const { only, size } = context;
    const lines = chosen(LINES, only);
    const systems = chosen(SYSTEMS, only);
    const rows: WanRow[] = [];
    const notes: string[] = [];
    for (const line of lines) {
      const sizes = SIZES[smaller(size, line.most)];
      notes.push(
        `${line.name}: ${line.about}; work of size ${sizes.name}${sizes.name === size ? "" : ", more would take hours"}`,
      );
      for (const system of systems) {
        const missing = system.missing();
        if (missing.length > 0) notes.push(`${system.name} is left out: install ${missing.join(", ")}.`);
        else rows.push(...(await measure(line, system, sizes, context)));
      }
    }
    return { rows, table: `${formatRows(rows)}\n\n${[...new Set(notes)].join("\n")}` };
  },
};

/** Chooses those of the list that are named, all when none is. */
function chosen<T extends { name: string }>(all: readonly T[], only: readonly string[]): readonly T[] {
  const named = all.filter(({ name }) => only.includes(name));
  return named.length > 0 ? named : all;
}

function smaller(one: keyof typeof SIZES, other: keyof typeof SIZES): keyof typeof SIZES {
  return ORDER.indexOf(one) < ORDER.indexOf(other) ? one : other;
}

async function measure(line: Line, system: System, sizes: Sizes, { say }: BenchContext): Promise<WanRow[]> {
  const sandbox = new Sandbox(PLACE_MS);
  try {
    const material = sandbox.makeFolder("material");
    makeMaterial(material, sizes);
    const served = sandbox.makeFolder("served");
    cpSync(`${material}/before`, served, { recursive: true });
    say(`${line.name}: ${system.name} starts`);
    const running = await system.start(sandbox, served, WORK_MS);
    await running.link.setShape(line.shape);
    const rows: WanRow[] = [];
    try {
      for (const [index, work] of workOf(sizes).entries()) {
        say(`${line.name}: ${system.name}: ${work.what}`);
        if (work.isCold) await running.forget();
        const scratch = sandbox.makeFolder(`scratch-${index}`);
        const figures = await figuresOf(running, work, material, scratch);
        rows.push({ line: line.name, size: sizes.name, what: work.what, system: system.name, ...figures });
      }
    } finally {
      await running.end();
    }
    return rows;
  } finally {
    await sandbox.cleanup();
  }
}

type Figures = Pick<WanRow, "seconds" | "upBytes" | "downBytes" | "turnarounds" | "failed">;

/** Bytes until the line is quiet, time until the work has ended. */
async function figuresOf(running: Running, work: Work, material: string, scratch: string): Promise<Figures> {
  const { link } = running;
  await quiet(link);
  await link.resetCounts();
  const startMs = performance.now();
  let failed: string | undefined;
  try {
    await running.perform(work, material, scratch);
  } catch (error) {
    failed = error instanceof Error ? error.message.slice(0, 500) : String(error);
  }
  const seconds = (performance.now() - startMs) / 1000;
  await quiet(link);
  const { up, down } = await link.counts();
  const figures = { seconds, upBytes: up.sentBytes, downBytes: down.sentBytes, turnarounds: down.turnarounds };
  return failed === undefined ? figures : { ...figures, failed };
}

/** A table for each line, in Markdown: work in rows, systems side by side. */
export function formatRows(rows: readonly WanRow[]): string {
  const tables: string[] = [];
  for (const line of new Set(rows.map((row) => row.line))) {
    const here = rows.filter((row) => row.line === line);
    const systems = [...new Set(here.map(({ system }) => system))];
    const head = `| ${line} | ${systems.map((name) => `${name}: s | KB up | KB down | trips`).join(" | ")} |`;
    const rule = `| --- |${" ---: | ---: | ---: | ---: |".repeat(systems.length)}`;
    const lines = [...new Set(here.map(({ what }) => what))].map((what) => {
      const cells = systems.flatMap((system) =>
        cellsOf(here.find((row) => row.what === what && row.system === system)),
      );
      return `| ${what} | ${cells.join(" | ")} |`;
    });
    tables.push([head, rule, ...lines].join("\n"));
  }
  return tables.join("\n\n");
}

function cellsOf(row: WanRow | undefined): string[] {
  if (row === undefined || row.failed !== undefined) return ["failed", "", "", ""];
  const { seconds, upBytes, downBytes, turnarounds } = row;
  return [
    seconds.toFixed(seconds < 10 ? 2 : 0),
    ...[upBytes, downBytes].map((bytes) => kilobytes(bytes)),
    String(turnarounds),
  ];
}

function kilobytes(bytes: number): string {
  const value = bytes / 1000;
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
