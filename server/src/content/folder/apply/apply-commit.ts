// Applying: what one prepared commit does to the served folder. Each step can be done again from any point where a
// crash or a failure left it; docs/FORMAT.md has the table [F28].
import type { AcceptedCommit } from "../../content-store.ts";
import { pathOfCommit } from "./commit-path.ts";
import type { LiveTree } from "./live-tree.ts";
import type { Prepared } from "./prepared.ts";
import { applyAttributes } from "./apply-attributes.ts";
import { probeRows, applyLink, applyMake } from "./apply-make.ts";
import { applyRemove } from "./apply-remove.ts";
import { applyRename } from "./apply-rename.ts";
import { applyWrite } from "./apply-write.ts";
import { removeIfThere } from "../disk/found.ts";

export async function applyCommit(tree: LiveTree, commit: AcceptedCommit, prepared: Prepared): Promise<void> {
  const { operation } = commit;
  switch (operation.op) {
    case "make":
      if (prepared.kind === "made") await applyMake(tree, commit, operation, prepared);
      return;
    case "link":
      return applyLink(tree, commit, operation, prepared.kind === "made" ? prepared : undefined);
    case "rename":
      return applyRename(tree, commit, operation);
    case "remove":
      return applyRemove(tree, commit, operation);
    case "setAttr":
      return applyAttributes(tree, commit, operation);
    case "write":
      if (prepared.kind === "filled") await applyWrite(tree, commit, prepared.content, prepared.temp);
      if (prepared.kind === "lost") await applyLost(tree, commit, prepared);
  }
}

/**
 * The commit copied bytes that another program has destroyed, and nobody has them: the version is lost. What it brought
 * itself, and what could be had, goes into a conflict copy. The rows say that the version is what lies there, so the
 * next probe reports the program's content as one that came after it.
 */
async function applyLost(
  tree: LiveTree,
  commit: AcceptedCommit,
  { content, path, missing }: Prepared & { kind: "lost" },
): Promise<void> {
  const { version } = content;
  const rows = await tree.rows.ofNode(version.node);
  const name = rows[0] ?? commit.change.bindings.find(({ node }) => node === version.node);
  const missingBytes = missing.reduce((sum, { length }) => sum + length, 0);
  const isKept = name !== undefined && missingBytes < content.sizeBytes && (await tree.find(path)) !== undefined;
  if (isKept) await tree.keepIncomplete(path, name.folder, name.name, missing);
  else await removeIfThere(tree.root, path);
  for (const row of rows) {
    await tree.lose(row);
    // Size 0, since nothing of this version was ever there to be written over.
    tree.rows.put({ ...row, version: version.seq, stat: { ...row.stat, sizeBytes: 0, mtimeNs: -1n, ctimeNs: -1n } });
  }
  // A node made for a conflict copy never gets onto the disk: the probe says so.
  const stat = await tree.root.stat("");
  const made = commit.change.bindings.filter(({ node }) => node === version.node);
  for (const binding of made) {
    tree.rows.put({
      ...version,
      folder: binding.folder,
      name: binding.name,
      handle: new Uint8Array(0),
      stat: { ...stat, type: "file", ctimeNs: -1n },
      version: version.seq,
    });
  }
  tree.rows.setPlace(version, { at: "lost" });
  if (!isKept) tree.deps.destroyed(await pathOfCommit(tree.deps.meta, commit), version.seq);
  await probeRows(tree, [...rows, ...made]);
}
