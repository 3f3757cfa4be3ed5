// Names of a served folder, as drives show them: read from the index, never from the disk.
import { type NodeState, ROOT_NODE, RunnelError } from "@runnel/shared";
import type { BrowseRow, Page, RowsRequest } from "../live/rows.ts";
import { ROWS_MAX } from "../live/rows.ts";
import type { Volume } from "../volume/volume.ts";

const NS_PER_MS = 1_000_000n;

/**
 * Lists a folder by name. `path` is "/"-separated from the volume's root, "" for that. @throws RunnelError NotFound,
 * NotFolder.
 */
export async function browseVolume(
  { meta }: Pick<Volume, "meta">,
  path: string,
  { after = "", limit = ROWS_MAX }: RowsRequest = {},
): Promise<Page<BrowseRow>> {
  let folder = ROOT_NODE;
  // Names are looked up in the index, in which nothing leads up or out.
  for (const name of path.split("/").filter((step) => step !== "")) {
    const state = await meta.lookup(folder, name);
    if (state === undefined) throw new RunnelError("NotFound", "browse", `There is no ${path}.`);
    if (state.type !== "folder") throw new RunnelError("NotFolder", "browse", `${path} is no folder.`);
    folder = state.node;
  }
  const entries = await meta.list(folder, after, limit + 1);
  const rows = entries.slice(0, limit).map(({ name, state }) => ({ name, ...shown(state) }));
  return { rows, after: entries.length > limit ? (rows.at(-1)?.name ?? null) : null };
}

function shown({ type, sizeBytes, mtimeNs }: NodeState): Omit<BrowseRow, "name"> {
  const kind = type === "file" || type === "folder" ? type : type === "symlink" ? "link" : "other";
  return { kind, bytes: type === "file" ? sizeBytes : 0, changedMs: Number(mtimeNs / NS_PER_MS) };
}
