// Applies feed items: the replica first, then the drive's tables, and all of it before the items are acknowledged. The
// kernel hears of them on the drive's own thread, but for what this client has changed itself, which is no news for it.
import type { Drive, DriveBinding } from "@runnel/native/drive";
import type { Change } from "@runnel/shared";
import type { OwnChanges } from "../changes/own-changes.ts";
import type { Replica } from "../replica/replica.ts";
import type { Tree } from "./tree.ts";

export interface FeedApplierDeps {
  drive: Drive;
  replica: Replica;
  tree: Tree;
  changes: Pick<OwnChanges, "isOwnName" | "isOwnNode">;
}

export class FeedApplier {
  private readonly deps: FeedApplierDeps;

  constructor(deps: FeedApplierDeps) {
    this.deps = deps;
  }

  /** Applies items, which are acknowledged when this returns: it waits for nobody. */
  apply(items: readonly Change[]): void {
    const { replica, drive, changes, tree } = this.deps;
    for (const { folder, name, before, after } of replica.apply(items))
      if (before !== 0 && before !== after) tree.lostName(folder, name, before);
    const { pending } = tree;
    pending.heard(items);
    // Keeps the last of each name: what is own and what is not is put apart.
    const bindings = new Map<string, { binding: DriveBinding; isOwn: boolean }>();
    for (const change of items) {
      const named = new Set<number>();
      for (const { folder, name, node: told } of change.bindings) {
        // Programs have bound it otherwise since.
        const node = pending.isEmpty ? told : (pending.bound(folder, name) ?? told);
        // The state that the last of these changes leaves: entries are put after all nodes.
        const state = node === 0 ? undefined : (pending.node(node) ?? change.nodes.find((one) => one.node === node));
        if (state !== undefined) named.add(state.node);
        const key = `${folder}/${name}`;
        const isOwn = changes.isOwnName(folder, name, told) && bindings.get(key)?.isOwn !== false;
        bindings.set(key, { binding: { folder, name, entry: state && tree.entry(state) }, isOwn });
      }
      for (const state of change.nodes) {
        if (named.has(state.node)) continue;
        const isOwn =
          changes.isOwnNode(state.node) ||
          change.bindings.some((binding) => changes.isOwnName(binding.folder, binding.name, binding.node));
        drive.putNode(tree.entry(pending.isEmpty ? state : (pending.node(state.node) ?? state)), !isOwn);
      }
    }
    for (const changed of [false, true]) {
      const put = [...bindings.values()].filter(({ isOwn }) => isOwn !== changed).map(({ binding }) => binding);
      if (put.length > 0) drive.putEntries(put, changed);
    }
  }
}
