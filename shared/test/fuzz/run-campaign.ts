// Starts a campaign in its own process and watches it: one that dies or falls silent has found something, too.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { CampaignReport, Finding } from "./campaign.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));
/** A batch takes a fraction of a second. */
const SILENCE_MS = 30_000;
const HEAP_MIB = 512;

export interface CampaignOrder {
  /** Exports `targets`. */
  module: URL;
  /** Left out: all of them, each with so many inputs. */
  name?: string;
  seed: number;
  inputs: number;
  isGuided?: boolean;
  silenceMs?: number;
}

export async function runCampaign(order: CampaignOrder): Promise<CampaignReport> {
  const folder = mkdtempSync(join(tmpdir(), "rnl-fuzz-"));
  const inputPath = join(folder, "input");
  const told = { isGuided: true, ...order, module: order.module.href, inputPath };
  const flags = [
    "--no-sparkplug",
    "--expose-gc",
    `--max-old-space-size=${HEAP_MIB}`,
    "--disable-warning=ExperimentalWarning",
  ];
  const child = spawn(process.execPath, [...flags, CHILD, JSON.stringify(told)], { stdio: ["ignore", "pipe", "pipe"] });
  let report: CampaignReport | undefined;
  let last = { name: "", inputs: 0 };
  let complaint = "";
  let isSilent = false;
  const silent = (): void => {
    isSilent = true;
    child.kill("SIGKILL");
  };
  const { silenceMs = SILENCE_MS } = order;
  let timer = setTimeout(silent, silenceMs);
  createInterface(child.stdout).on("line", (line) => {
    clearTimeout(timer);
    timer = setTimeout(silent, silenceMs);
    const said = JSON.parse(line) as { report?: CampaignReport } & typeof last;
    report = said.report;
    last = said;
  });
  child.stderr.on("data", (bytes: Buffer) => {
    complaint = (complaint + bytes.toString()).slice(-2000);
  });
  try {
    const how = await new Promise<string>((resolve) => {
      child.once("close", (code, signal) => resolve(`${signal ?? code}`));
    });
    if (report !== undefined) return report;
    const what: Finding["what"] = isSilent ? "hung" : "crashed";
    const finding = { what, says: `${last.name}: ${how}: ${complaint}`, input: inputUnderWay(inputPath) };
    return { inputs: last.inputs, kept: 0, covered: 0, grewBytes: 0, finding };
  } finally {
    clearTimeout(timer);
    rmSync(folder, { recursive: true });
  }
}

function inputUnderWay(path: string): string {
  try {
    const bytes = readFileSync(path);
    return bytes.subarray(4, 4 + bytes.readUInt32LE(0)).toString("hex");
  } catch {
    return "";
  }
}
