// Contract of MetaStore, part five: what is forgotten of what was removed, and of clients that are away.
import { describe, expect, test } from "@jest/globals";
import { FILE, ROOT } from "./meta-harness.ts";
import type { Harness } from "./meta-harness.ts";

type Using = (work: (h: Harness) => Promise<void>) => () => Promise<void>;

function describeForgotten(using: Using): void {
  test(
    "of nodes without a name all is forgotten with the change that took it, once nothing is on disk and no bytes are kept; their ids stay used",
    using(async (h) => {
      const nodes: number[] = [];
      for (const name of ["empty", "lost", "kept", "on disk", "late"]) nodes.push(await h.make(ROOT, name));
      const [empty = 0, lost = 0, kept = 0, onDisk = 0, late = 0] = nodes;
      for (const node of [lost, kept]) {
        const { result } = await h.run(h.write(node, 0, "abc"));
        const place = node === lost ? ({ at: "lost" } as const) : ({ at: "disk" } as const);
        await h.store.setPlace({ node, seq: result.version }, place);
      }
      await h.run({ op: "setAttr", node: empty, change: { xattr: ["user.a", Buffer.from("a")] } });
      await h.up(ROOT, "on disk");
      for (const [name, node] of [
        ["empty", empty],
        ["lost", lost],
        ["kept", kept],
        ["on disk", onDisk],
      ] as const)
        await h.run(h.remove(ROOT, name, node));
      const { seq } = await h.store.facts();
      await h.run(h.remove(ROOT, "late", late));
      expect(await h.store.forgetNameless(0, 100)).toBeUndefined();
      expect((await h.store.nodes(nodes)).filter((state) => state === undefined)).toEqual([]);
      await h.store.forgetChanges(seq);
      // Nothing is forgotten of what is not in the folder yet.
      await h.store.forgetNameless(0, 100);
      expect(await h.store.node(empty)).toBeDefined();
      await h.store.recordApplied({ put: [], removed: [], places: [], appliedSeq: seq + 1 });
      let after: number | undefined = 0;
      const calls: number[] = [];
      while ((after = await h.store.forgetNameless(after, 1)) !== undefined) calls.push(after);
      expect(calls).toEqual([seq - 3, seq - 2, seq - 1, seq]);
      const left = (await h.store.nodes(nodes)).map((state) => state?.node);
      expect(left).toEqual([undefined, undefined, kept, onDisk, late]);
      expect([await h.store.versionsOf(lost), await h.store.xattrs(empty), await h.store.lastName(empty)]).toEqual([
        [],
        [],
        undefined,
      ]);
      expect(await h.store.lastName(kept)).toEqual({ folder: ROOT, name: "kept", instance: "here" });
      expect((await h.refused(h.write(lost, 0, "late"))).kind).toBe("NotFound");
      expect((await h.store.allocateNodes(1)).first).toBeGreaterThan(late);
      await h.store.setPlace({ node: kept, seq: (await h.store.node(kept))?.version ?? 0 }, { at: "lost" });
      await h.store.forgetNameless(0, 100);
      expect(await h.store.node(kept)).toBeUndefined();
    }),
  );

  test(
    "[W24] of the results of instances that are not attached so many are kept, the newest",
    using(async (h) => {
      await h.store.setAttached("here", 1000);
      for (const [index, instance] of ["here", "one", "one", "two", "here"].entries())
        await h.make(ROOT, `made ${index}`, FILE, instance);
      const kept = async (): Promise<boolean[]> => {
        const results = ["here", "one", "one", "two", "here"].map((instance, index) =>
          h.store.result(instance, index + 1),
        );
        return (await Promise.all(results)).map((result) => result !== undefined);
      };
      await h.store.forgetOldResults(5);
      expect(await kept()).toEqual([true, true, true, true, true]);
      await h.store.forgetOldResults(2);
      expect(await kept()).toEqual([true, false, false, true, true]);
      await h.store.setAttached("here", 0);
      await h.store.forgetOldResults(1);
      expect(await kept()).toEqual([false, false, false, false, true]);
    }),
  );
}

export function describeOldRows(using: Using): void {
  describe("what is forgotten", () => describeForgotten(using));
}
