// Contents that a drive gives to a stick, over a cache and a replica in memory. Sticks: app/test/carry.
import { expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { ROOT_NODE, digestAt, presetFor } from "@runnel/shared";
import { openCache } from "../../src/agent/cache/content-cache.ts";
import { Carrying, type CarryingDeps } from "../../src/agent/mounted-volume/carrying.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH, JournalMachine } from "../journal/journal-machine.ts";
import { makeState } from "../replica/model-tree.ts";

const NODE = 7;
const SEQ = 3;

test("a file of which the server has no recipe yet is carried, cut as the server will cut it", async () => {
  const machine = new JournalMachine();
  await machine.open();
  const { clock, root } = machine;
  const executor = inlineExecutor();
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at) >> 7));
  const replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 });
  const state = { ...makeState(NODE, "file", SEQ), nlink: 1, version: SEQ, sizeBytes: bytes.length };
  replica.putListing(ROOT_NODE, SEQ, [{ name: "film", state }], true);
  const cache = await openCache({ root, path: ":memory:", executor, clock, boot: "boot 1" });
  const downloads = {
    keep: (content: Parameters<typeof cache.write>[0]) => cache.write(content, 0, bytes, "range"),
  };
  const deps: Partial<Record<keyof CarryingDeps, unknown>> = {
    replica,
    cache,
    executor,
    downloads,
    unsent: { items: () => [] },
    nodeAt: async () => NODE,
    epoch: () => EPOCH,
    listed: async () => undefined,
  };
  const digests: string[] = [];
  const carried: unknown[] = [];
  const failures: unknown[] = [];
  await new Carrying(deps as unknown as CarryingDeps).carryOut(
    {
      sink: {
        lacks: async (_content, spans) => [...spans],
        put: async ({ recipe }, { from, count }) => {
          for (let at = from; at < from + count; at++) digests.push(Buffer.from(digestAt(recipe, at)).toString("hex"));
        },
        flush: async () => undefined,
      },
      signal: new AbortController().signal,
      carried: async (version) => void carried.push(version),
      carriedUnsent: () => undefined,
      failed: (_path, error) => void failures.push(error),
    },
    ["film"],
  );
  expect(failures).toEqual([]);
  expect(carried).toEqual([[NODE, SEQ, bytes.length, "film"]]);
  const cut = await executor.chunkBytes(bytes, presetFor(bytes.length));
  expect(digests.join("")).toBe(Buffer.from(cut.digests).toString("hex"));
  await cache.close();
});
