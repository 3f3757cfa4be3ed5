// Lists what lies in folders, from a process of its own: JSON, for each folder a list of [path, words as in a
// workload's trees], empty when there is no such folder. argv: FOLDER…
import { existsSync, readFileSync, readdirSync, readlinkSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { describe } from "./workload.ts";

const PERMISSIONS = 0o7777;

function listTrees(folder: string, path: string, found: [string, string][]): void {
  for (const name of readdirSync(join(folder, path)).sort()) {
    if (name === ".runnel-store") continue;
    const at = path === "" ? name : `${path}/${name}`;
    const whole = join(folder, at);
    const stat = lstatSync(whole);
    if (stat.isFile()) found.push([at, describe("file", stat.mode & PERMISSIONS, "", readFileSync(whole))]);
    else if (stat.isSymbolicLink()) found.push([at, describe("symlink", 0, readlinkSync(whole), Buffer.alloc(0))]);
    else if (stat.isDirectory()) {
      found.push([at, describe("folder", 0, "", Buffer.alloc(0))]);
      listTrees(folder, at, found);
    } else throw new Error(`${at} is something else.`);
  }
}

const trees = process.argv.slice(2).map((folder) => {
  const found: [string, string][] = [];
  if (existsSync(folder)) listTrees(folder, "", found);
  return found;
});
process.stdout.write(JSON.stringify(trees));
