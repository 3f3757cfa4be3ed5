// `native`: what core.node's engines do to bytes in memory, and what the product makes of it: an edit of a large file,
// and a server that takes in large files.
import { fileURLToPath } from "node:url";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { type Content, randomContent, treeContent } from "./contents.ts";
import { type EditFigures, measureEdit } from "./edit.ts";
import { type Files, type IngestFigures, measureIngest } from "./ingest.ts";
import { type Rate, measureRates } from "./rates.ts";

const MiB = 1024 * 1024;
interface Sizes {
  contentBytes: number;
  editedBytes: number;
  /** Files that a server takes in: large ones, and small ones. */
  large: Files;
  small: Files;
}

const SIZES: Record<BenchContext["size"], Sizes> = {
  full: sizesOf(64, 100, 1024, 5000),
  small: sizesOf(16, 25, 256, 1000),
  tiny: sizesOf(1, 2, 4, 20),
};

function sizesOf(contentMib: number, editedMib: number, largeMib: number, smallFiles: number): Sizes {
  return {
    contentBytes: contentMib * MiB,
    editedBytes: editedMib * MiB,
    large: { count: 4, bytes: largeMib * MiB },
    small: { count: smallFiles, bytes: smallFiles * 4096 },
  };
}

/** Packages as npm lays them out: source, declarations, and some programs. */
const TREE = fileURLToPath(new URL("../../../node_modules", import.meta.url));

export interface NativeFigures {
  rates: readonly Rate[];
  edit: EditFigures;
  ingest: IngestFigures;
  smallIngest: IngestFigures;
}

export const nativeBenchmark: Benchmark = {
  name: "native",
  about: "chunks, digests and compression by each engine, an edit, and ingest; --size full|small|tiny",
  async run({ rounds, size, say }: BenchContext): Promise<Result> {
    const sizes = SIZES[size];
    const contents = [randomContent(sizes.contentBytes), treeContent(TREE, sizes.contentBytes)];
    const rates = await measureRates(contents, { rounds, say });
    say("an edit");
    const edit = await measureEdit(sizes.editedBytes, rounds);
    say("ingest");
    const ingest = await measureIngest(sizes.large);
    const smallIngest = await measureIngest(sizes.small);
    const figures = { rates, edit, ingest, smallIngest };
    return { rows: rates, figures: nested(figures), table: formatNative(figures, contents) };
  },
};

/** chunk.gfni.ratio and so on, those of random bytes; beside them `tree` has the same of the tree. */
function nested({ rates, edit, ingest, smallIngest }: NativeFigures): Record<string, unknown> {
  const groups: Record<string, Record<string, object>> = {};
  for (const { group, path, content, gbPerSecond, ratio } of rates) {
    const paths = (groups[group] ??= {});
    paths[path] =
      content === "random" ? { gbPerSecond, ratio, ...paths[path] } : { ...paths[path], tree: { gbPerSecond, ratio } };
  }
  return {
    ...groups,
    pipeline: { ...groups.pipeline, ...groups.pipeline?.fastest },
    rechunk: edit,
    ingest: { ...ingest, small: smallIngest },
  };
}

export function formatNative(
  { rates, edit, ingest, smallIngest }: NativeFigures,
  contents: readonly Pick<Content, "name" | "files">[],
): string {
  const lines = [
    "| one thread | random: GB/s | ratio | tree: GB/s | ratio |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...rates.filter((rate) => isFirstOfWay(rate, rates)).map((rate) => rateLine(rate, rates)),
    "",
    `Random is one file; the tree is ${contents.find(({ name }) => name === "tree")?.files.length ?? 0} files, each cut for itself.`,
    `One byte of ${mib(edit.fileBytes)} changed: ${edit.bytesRead} bytes read, ${edit.cpuMs.toFixed(2)} ms; cut anew: ${edit.wholeCpuMs.toFixed(1)} ms.`,
    ingestLine(ingest),
    ingestLine(smallIngest),
  ];
  return lines.join("\n");
}

function ingestLine({ count, bytes, seconds, cpuMs, ...late }: IngestFigures): string {
  const [median, p99, most, idle] = [late.delayP50Ms, late.delayP99Ms, late.delayMaxMs, late.idleP99Ms].map((ms) =>
    ms.toFixed(1),
  );
  return (
    `Ingest of ${count} files, ${mib(bytes)}: ${seconds.toFixed(2)} s, ${cpuMs.toFixed(0)} ms of processor time; the event loop was late by ` +
    `${median} ms (median), ${p99} (p99), ${most} (most); idle ${idle} (p99).`
  );
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
