// removeAll: what removing a folder with all below it comes to, one removal after another, the deepest first. Reads the
// committed tree while nothing else is being committed, so what it finds is what is removed.
import type { Entry, NodeState } from "@runnel/shared";
import { LIMITS, RunnelError } from "@runnel/shared";
import type { ContentStore } from "../content/content-store.ts";
import type { Holder } from "../feed/holder.ts";
import type { MetaStore, OperationId } from "../meta/meta-store.ts";
import type { Submission } from "../commit-log/queue.ts";
import type { LaterChanges } from "./later-changes.ts";

export interface WholeTree {
  folder: number;
  name: string;
  node: number;
  /** Seq of the request: what changed after it is not removed, nor anything else then. */
  asOf: number;
  /** Limits the removal to as much of what is below as one operation removes [W120]. */
  isPartial: boolean;
}

export interface TreeRemovalDeps {
  meta: MetaStore;
  content: Pick<ContentStore, "checkExcluded">;
  laterChanges: LaterChanges;
}

type Removal = Submission["operation"] & { op: "remove" };

const PAGE_ENTRIES = 1000;
const NO_DATA = new Uint8Array(0);

/** @throws NotFound, Stale (with the nodes that changed), NotFolder, NotEmpty (of what is left out), TooLarge. */
export async function removalsOf(
  { meta, content, laterChanges }: TreeRemovalDeps,
  tree: WholeTree,
  id: OperationId,
  holder: Holder | undefined,
): Promise<Submission[]> {
  const { folder, name, node } = tree;
  const itself: Removal = { op: "remove", folder, name, node, isFolder: true };
  const submit = (operation: Removal, isLast: boolean): Submission => {
    return { operation, id: isLast ? id : { ...id, isStep: true }, data: NO_DATA, holder };
  };
  // Executed before: the answer is the stored one.
  if ((await meta.result(id.instance, id.n)) !== undefined) return [submit(itself, true)];
  const state = await meta.lookup(folder, name);
  const asOf = (await meta.facts()).seq;
  if (state === undefined)
    throw new RunnelError("NotFound", "removeAll", "The folder is not there.", { detail: { asOf } });
  if (state.node !== node)
    throw new RunnelError("Stale", "removeAll", `The name is bound to ${state.node}, not ${node}.`, {
      detail: { node: state.node, current: state.version },
    });
  if (state.type !== "folder") throw new RunnelError("NotFolder", "removeAll", `Node ${node} is not a folder.`);
  const found = tree.isPartial ? await someBelow(meta, state, itself) : (await below(meta, state, itself)).toReversed();
  await mustBeUnchanged(laterChanges, found, tree);
  for (const { removal } of found) {
    const checked = removal.isFolder ? content.checkExcluded(removal.node) : undefined;
    if (checked !== undefined) await checked;
  }
  return found.map(({ removal }, at) => submit(removal, at === found.length - 1));
}

interface Found {
  state: NodeState;
  removal: Removal;
}

/** A folder and all below it; each before what is in it. */
async function below(meta: MetaStore, top: NodeState, removal: Removal): Promise<Found[]> {
  const found: Found[] = [{ state: top, removal }];
  for (let at = 0; at < found.length; at++) {
    const { state } = found[at] as Found;
    if (state.type !== "folder") continue;
    for (let after = ""; ;) {
      const page = await meta.list(state.node, after, PAGE_ENTRIES);
      for (const entry of page) {
        const { node, type } = entry.state;
        const { name } = entry;
        found.push({
          state: entry.state,
          removal: { op: "remove", folder: state.node, name, node, isFolder: type === "folder" },
        });
      }
      if (found.length > LIMITS.removeAllNodes) throw tooLarge();
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ENTRIES) break;
      after = last.name;
    }
  }
  return found;
}

/** Collects of a folder and all below it as many as are removed at once; each after what is in it. */
async function someBelow(meta: MetaStore, top: NodeState, removal: Removal): Promise<Found[]> {
  const found: Found[] = [];
  /** From the top down: folders whose names are being gone through. */
  const open: (Found & { page: readonly Entry[]; at: number; isLast: boolean })[] = [];
  const enter = async (folder: Found): Promise<void> => {
    const page = await meta.list(folder.state.node, "", PAGE_ENTRIES);
    open.push({ ...folder, page, at: 0, isLast: page.length < PAGE_ENTRIES });
  };
  await enter({ state: top, removal });
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    if (found.length === LIMITS.removeAllNodes) return found;
    const entry = inner.page[inner.at++];
    if (entry !== undefined) {
      const { name, state } = entry;
      const isFolder = state.type === "folder";
      const next: Found = {
        state,
        removal: { op: "remove", folder: inner.state.node, name, node: state.node, isFolder },
      };
      if (isFolder) await enter(next);
      else found.push(next);
    } else if (inner.isLast) {
      open.pop();
      found.push({ state: inner.state, removal: inner.removal });
    } else {
      inner.page = await meta.list(inner.state.node, inner.page.at(-1)?.name ?? "", PAGE_ENTRIES);
      [inner.at, inner.isLast] = [0, inner.page.length < PAGE_ENTRIES];
    }
  }
  return found;
}

/** A folder is not changed by what was removed from it, and new names in it are looked at themselves. @throws Stale. */
async function mustBeUnchanged(
  laterChanges: LaterChanges,
  found: readonly Found[],
  { asOf, isPartial }: WholeTree,
): Promise<void> {
  const later = found.filter(({ state }) => state.seq > asOf).map(({ state }) => state);
  const isDoubtful = later.some(({ type }) => type === "folder");
  // Read for each part: by the last one the first changes may not be kept any more.
  const itself = isDoubtful || isPartial ? await laterChanges.since(asOf) : undefined;
  const changed = later.filter(({ type, node }) => type !== "folder" || (itself?.has(node) ?? true));
  if (changed.length === 0) return;
  const nodes = changed.slice(0, LIMITS.changedNodes).map(({ node }) => node);
  throw new RunnelError("Stale", "removeAll", `${changed.length} files or folders were changed meanwhile.`, {
    detail: { nodes },
  });
}

function tooLarge(): RunnelError {
  return new RunnelError("TooLarge", "removeAll", "The folder holds too many files and folders for one operation.", {
    detail: { limit: LIMITS.removeAllNodes },
  });
}
