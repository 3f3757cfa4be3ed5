// Probing paths that events named: which folder's name is meant follows the rows, from the root down. Below a folder
// that is not known yet the folder itself is what has to be probed.
import { ROOT_NODE } from "@runnel/shared";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { Prober } from "./prober.ts";
import type { Observation } from "./observation.ts";
import { joinPath } from "../disk/store-layout.ts";

/** Count of names of one folder from which listing it is faster. */
const LIST_FROM = 256;

interface Name {
  folder: number;
  name: string;
  path: string;
  /** When a write to the file was reported, on the wall clock. */
  writtenNs?: bigint | undefined;
}

/** The name to probe for a path; undefined for the root. `known`: folders by path, found so far. */
async function nameOf(rows: DiskRows, path: string, known: Map<string, number | undefined>): Promise<Name | undefined> {
  const parts = path.split("/").filter((part) => part !== "");
  let folder = ROOT_NODE;
  let at = "";
  for (const [index, name] of parts.entries()) {
    const below = joinPath(at, name);
    if (index === parts.length - 1) return { folder, name, path: below };
    if (!known.has(below)) {
      const row = await rows.get(folder, name);
      known.set(below, row?.stat.type === "folder" ? row.node : undefined);
    }
    const node = known.get(below);
    if (node === undefined) return { folder, name, path: below };
    folder = node;
    at = below;
  }
  return undefined;
}

export interface ProbeResult {
  observed: Observation[];
  isRootNamed: boolean;
  /** Paths whose folder is not known yet, to be probed when it is; by the path that was probed instead. */
  deeper: Map<string, string[]>;
}

/** `written`: paths that a program has written to, with when that was reported, on the wall clock. */
export async function probePaths(
  rows: DiskRows,
  prober: Prober,
  paths: readonly string[],
  written: ReadonlyMap<string, bigint>,
): Promise<ProbeResult> {
  const known = new Map<string, number | undefined>();
  const byFolder = new Map<number, Map<string, Name>>();
  const deeper = new Map<string, string[]>();
  let isRootNamed = false;
  for (const path of paths) {
    const name = await nameOf(rows, path, known);
    if (name === undefined) {
      isRootNamed = true;
      continue;
    }
    if (name.path !== path) deeper.set(name.path, [...(deeper.get(name.path) ?? []), path]);
    const names = byFolder.get(name.folder) ?? new Map<string, Name>();
    names.set(name.path, { ...name, writtenNs: written.get(name.path) });
    byFolder.set(name.folder, names);
  }
  const observed: Observation[] = [];
  const single: Name[] = [];
  for (const [folder, names] of byFolder) {
    const listed = names.size >= LIST_FROM ? await prober.list(folder, written) : undefined;
    if (listed === undefined) single.push(...names.values());
    else for (const one of listed.observed) observed.push(one);
  }
  for (const one of await prober.observeAll(single)) observed.push(one);
  return { observed: withoutOthers(observed), isRootNamed, deeper };
}

/** Leaves out what lies in the place of a folder that is gone: it is not in that one. */
function withoutOthers(observed: Observation[]): Observation[] {
  const isGone = ({ row, found }: Observation): boolean => row?.stat.type === "folder" && found === undefined;
  const gone = observed.filter(isGone).map(({ path }) => `${path}/`);
  if (gone.length === 0) return observed;
  return observed.filter(({ path, found }) => found === undefined || !gone.some((folder) => path.startsWith(folder)));
}
