// Shows what the drive is told of feed items that come together.
import { expect, test } from "@jest/globals";
import type { DriveBinding } from "@runnel/native/drive";
import type { Change } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { FeedApplier, type FeedApplierDeps } from "../../src/agent/drive/feed-applier.ts";
import { makeState } from "../replica/model-tree.ts";

const OTHERS = 3;
const OWN = 4;

/** This client has renamed its file to "a", and has no answer yet. */
function applierOfRename(puts: { bindings: readonly DriveBinding[]; changed: boolean }[]): FeedApplier {
  const deps = {
    replica: { apply: () => [], node: (node: number) => makeState(node, "file", node) },
    drive: {
      putEntries: (bindings: readonly DriveBinding[], changed: boolean) => void puts.push({ bindings, changed }),
      putNode: () => undefined,
    },
    changes: {
      isOwnName: (folder: number, name: string, node: number) =>
        folder === ROOT_NODE && ((name === "a" && node === OWN) || (name === "b" && node === 0)),
      isOwnNode: () => false,
    },
    tree: {
      entry: ({ node }: { node: number }) => ({ node }),
      pending: { isEmpty: true, heard: () => undefined, node: (node: number) => makeState(node, "file", node) },
    },
  };
  return new FeedApplier(deps as unknown as FeedApplierDeps);
}

function change(seq: number, ...bindings: [string, number][]): Change {
  return {
    seq,
    bindings: bindings.map(([name, node]) => ({ folder: ROOT_NODE, name, node })),
    nodes: [],
  } as unknown as Change;
}

test.each([
  ["another client's change of a name and then one from here", [change(5, ["a", OTHERS]), change(6, ["a", OWN])], OWN],
  ["one from here and then another client's", [change(5, ["a", OWN]), change(6, ["a", OTHERS])], OTHERS],
])("of %s the drive shows the last, and the kernel is told", (_order, changes, node) => {
  const puts: { bindings: readonly DriveBinding[]; changed: boolean }[] = [];
  applierOfRename(puts).apply(changes);
  expect(puts).toEqual([{ bindings: [{ folder: ROOT_NODE, name: "a", entry: { node } }], changed: true }]);
});

test("of changes from here the kernel is not told", () => {
  const puts: { bindings: readonly DriveBinding[]; changed: boolean }[] = [];
  applierOfRename(puts).apply([change(5, ["b", 0], ["a", OWN])]);
  expect(puts).toEqual([
    {
      bindings: [
        { folder: ROOT_NODE, name: "b", entry: undefined },
        { folder: ROOT_NODE, name: "a", entry: { node: OWN } },
      ],
      changed: false,
    },
  ]);
});
