// `native`: what core.node's engines do to bytes in memory, and what the product makes of it: an edit of a large file, and a server that
// takes in large files.
import { fileURLToPath } from "node:url";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { type Content, randomContent, treeContent } from "./contents.ts";
import { type EditFigures, measureEdit } from "./edit.ts";
import { type IngestFigures, measureIngest } from "./ingest.ts";
import { type Rate, measureRates } from "./rates.ts";

const MiB = 1024 * 1024;
/** Bytes of each content in memory, of the edited file, and of the files taken in. */
const SIZES: Record<BenchContext["size"], { content: number; edited: number; ingested: number }> = {
  full: { content: 64 * MiB, edited: 100 * MiB, ingested: 1024 * MiB },
  small: { content: 16 * MiB, edited: 25 * MiB, ingested: 256 * MiB },
  tiny: { content: MiB, edited: 2 * MiB, ingested: 4 * MiB },
};
/** Packages as npm lays them out: source, declarations, and some programs. */
const TREE = fileURLToPath(new URL("../../../node_modules", import.meta.url));

export interface NativeFigures {
  rates: readonly Rate[];
  edit: EditFigures;
  ingest: IngestFigures;
}

export const nativeBenchmark: Benchmark = {
  name: "native",
  about: "chunks, digests and compression by each engine, an edit, and ingest; --size full|small|tiny",
  async run({ rounds, size, say }: BenchContext): Promise<Result> {
    const sizes = SIZES[size];
    const contents = [randomContent(sizes.content), treeContent(TREE, sizes.content)];
    const rates = await measureRates(contents, { rounds, say });
    say("an edit");
    const edit = await measureEdit(sizes.edited, rounds);
    say("ingest");
    const ingest = await measureIngest(sizes.ingested);
    const figures = { rates, edit, ingest };
    return { rows: rates, figures: nested(figures), table: formatNative(figures, contents) };
  },
};

/** chunk.gfni.ratio and so on, those of random bytes; beside them `tree` has the same of the tree. */
function nested({ rates, edit, ingest }: NativeFigures): Record<string, unknown> {
  const groups: Record<string, Record<string, object>> = {};
  for (const { group, path, content, gbPerSecond, ratio } of rates) {
    const paths = (groups[group] ??= {});
    paths[path] =
      content === "random" ? { gbPerSecond, ratio, ...paths[path] } : { ...paths[path], tree: { gbPerSecond, ratio } };
  }
  return { ...groups, pipeline: { ...groups.pipeline, ...groups.pipeline?.fastest }, rechunk: edit, ingest };
}

export function formatNative(
  { rates, edit, ingest }: NativeFigures,
  contents: readonly Pick<Content, "name" | "files">[],
): string {
  const lines = [
    "| one thread | random: GB/s | ratio | tree: GB/s | ratio |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...rates.filter((rate) => isFirstOfWay(rate, rates)).map((rate) => rateLine(rate, rates)),
    "",
    `Random is one file; the tree is ${contents.find(({ name }) => name === "tree")?.files.length ?? 0} files, each cut for itself.`,
    `One byte of ${mib(edit.fileBytes)} changed: ${edit.bytesRead} bytes read, ${edit.cpuMs.toFixed(2)} ms; cut anew: ${edit.wholeCpuMs.toFixed(1)} ms.`,
    `Ingest of ${mib(ingest.bytes)}: ${ingest.seconds.toFixed(2)} s; the event loop was late by ${ingest.delayP50Ms.toFixed(1)} ms (half of the time less), ` +
      `${ingest.delayP99Ms.toFixed(1)} (p99), ${ingest.delayMaxMs.toFixed(1)} (most); idle ${ingest.idleP99Ms.toFixed(1)} (p99).`,
  ];
  return lines.join("\n");
}

const isSameWay = (one: Rate, other: Rate): boolean => one.group === other.group && one.path === other.path;

function isFirstOfWay(rate: Rate, rates: readonly Rate[]): boolean {
  return rates.find((other) => isSameWay(rate, other)) === rate;
}

function rateLine(rate: Rate, rates: readonly Rate[]): string {
  const cells = (["random", "tree"] as const).flatMap((name) => {
    const one = rates.find((other) => isSameWay(rate, other) && other.content === name);
    return one === undefined ? ["", ""] : [one.gbPerSecond.toFixed(2), one.ratio.toFixed(1)];
  });
  return `| ${rate.group}: ${rate.what} | ${cells.join(" | ")} |`;
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MiB)} MiB`;
}
