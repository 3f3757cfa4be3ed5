// removeAll: a folder with all below it in one operation.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, RunnelError } from "@runnel/shared";
import { bytesOf } from "../../volume/volume-rig.ts";
import { ServerRig, instanceOf, kindOf } from "../server-rig.ts";
import type { Attached, Result } from "../server-rig.ts";

let wire: ServerRig;
let one: Attached;
let other: Attached;

beforeEach(async () => {
  wire = await ServerRig.open(6);
  one = await (await wire.greeted()).attach(instanceOf("1"));
  other = await (await wire.greeted()).attach(instanceOf("2"));
  await other.find({ isDeep: true, follow: true });
});

afterEach(() => wire.close());

interface Tree {
  top: number;
  sub: number;
  file: number;
}

/** top/ with sub/, sub/file and some more. */
async function tree(): Promise<Tree> {
  const top = await one.make(ROOT_NODE, "top", "folder");
  const sub = await one.make(top, "sub", "folder");
  const file = await one.make(sub, "file");
  await one.write(file, 0, bytesOf(1, 5_000));
  for (const name of ["a", "b", "c"]) await one.make(top, name);
  await one.make(sub, "link", "symlink", "file");
  return { top, sub, file };
}

const seq = (): number => wire.rig.volume.seq;

function removeAll(node: number, asOf: number, n?: number): Promise<Result> {
  return one.change("removeAll", { folder: ROOT_NODE, name: "top", node, asOf }, n);
}

async function refusal(promise: Promise<unknown>): Promise<RunnelError> {
  const error = await promise.catch((reason: unknown) => reason);
  if (!(error instanceof RunnelError)) throw new Error("It was not refused.");
  return error;
}

async function fill(folder: number, count: number): Promise<void> {
  const { first } = await wire.rig.run(wire.rig.volume.meta.allocateNodes(count));
  const attributes = { type: "folder", mode: 0o755, uid: 0, gid: 0, mtimeNs: 1n, rdev: 0, target: "" } as const;
  await wire.rig.run(
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        wire.rig.volume.commit(
          { op: "make", folder, name: `${index}`, node: first + index, attributes },
          undefined,
          undefined,
        ),
      ),
    ),
  );
}

describe("removing a whole tree", () => {
  test("[W64] is one round trip, one commit, and one item for who follows; old versions stay", async () => {
    const { top, file } = await tree();
    const { version } = (await wire.rig.volume.meta.node(file)) ?? { version: 0 };
    const link = await one.make(ROOT_NODE, "beside");
    await one.change("link", { node: link, folder: top, name: "beside too" });
    await wire.rig.settle();
    const before = seq();
    const [told, startMs] = [other.feed.length, wire.rig.clock.bootMs()];
    const result = await removeAll(top, before);
    expect(wire.rig.clock.bootMs() - startMs).toBeLessThan(20);
    // a, b, c, sub, its file and link, a further name of a file outside, and top itself.
    expect(result).toMatchObject({ node: top, seq: before + 8, conflict: false });
    await wire.rig.clock.advance(50);
    const items = other.feed.slice(told).filter((item) => item[0] === "changes");
    expect(items.map((item) => item[1].length)).toEqual([8]);
    expect(items.flatMap((item) => item[1].map(({ replaces }) => replaces?.node))).toContain(file);
    await wire.rig.settle();
    expect((await wire.rig.volume.meta.list(ROOT_NODE, "", 10)).map(({ name }) => name)).toEqual(["beside"]);
    expect([...(await wire.rig.files())]).toEqual([["beside", "file "]]);
    expect((await wire.rig.volume.meta.version({ node: file, seq: version }))?.place.at).toBe("trash");
    expect(Buffer.from(await wire.rig.read(file, version))).toEqual(Buffer.from(bytesOf(1, 5_000)));
    expect(await wire.rig.volume.meta.node(link)).toMatchObject({ nlink: 1 });
  });

  test("[W64] is refused when something below was written, made, moved there or set after it was looked at, and says what; nothing is removed", async () => {
    const outside = await one.make(ROOT_NODE, "outside", "folder");
    await one.make(outside, "old");
    const { top, sub, file } = await tree();
    const { version } = (await wire.rig.volume.meta.node(file)) ?? { version: 0 };
    const changes: (() => Promise<number>)[] = [
      async () => (await other.write(file, version, bytesOf(2, 300))).node,
      () => other.make(sub, "made later"),
      async () => (await other.change("setAttr", { node: sub, change: { mode: 0o700 } })).node,
      async () =>
        (
          await other.change("rename", {
            folder: ROOT_NODE,
            name: "outside",
            node: outside,
            toFolder: sub,
            toName: "moved",
            how: "keep",
          })
        ).node,
    ];
    for (const change of changes) {
      const asOf = seq();
      const changed = await change();
      const before = await wire.rig.tree();
      const error = await refusal(removeAll(top, asOf));
      expect(error).toMatchObject({ kind: "Stale", detail: { nodes: [changed] } });
      expect(await wire.rig.tree()).toEqual(before);
    }
    // A removal is no change of what is left.
    const asOf = seq();
    await other.change("remove", { folder: sub, name: "file", node: file, isFolder: false });
    expect(await kindOf(removeAll(top, asOf))).toBe("done");
  });

  test("[W64] [limit changedNodes] names some when many were changed", async () => {
    const { top, sub } = await tree();
    const asOf = seq();
    for (let index = 0; index <= LIMITS.changedNodes; index++) await other.make(sub, `${index}`);
    const { detail, message } = await refusal(removeAll(top, asOf));
    expect(detail.nodes).toHaveLength(LIMITS.changedNodes);
    expect(message).toContain(`${LIMITS.changedNodes + 1} files`);
  });

  test("[W64] when changes are no longer kept, a folder that has a later one counts as changed", async () => {
    const { top, sub } = await tree();
    const asOf = seq();
    await other
      .make(sub, "x")
      .then((node) => other.change("remove", { folder: sub, name: "x", node, isFolder: false }));
    await wire.rig.run(wire.rig.volume.meta.forgetChanges(seq()));
    expect(await refusal(removeAll(top, asOf))).toMatchObject({ kind: "Stale", detail: { nodes: [sub] } });
  });

  test("[W64] needs a folder that is bound so", async () => {
    const { top, sub } = await tree();
    expect(await kindOf(removeAll(sub, seq()))).toBe("Stale");
    const file = await one.make(ROOT_NODE, "f");
    const ask = { folder: ROOT_NODE, asOf: seq() };
    expect(await kindOf(one.change("removeAll", { ...ask, name: "f", node: file }))).toBe("NotFolder");
    expect(await kindOf(one.change("removeAll", { ...ask, name: "nothing", node: top }))).toBe("NotFound");
  });

  test("[W24] is executed once, and answered again after a restart; the number says that and nothing else", async () => {
    const { top } = await tree();
    const asOf = seq();
    const result = await removeAll(top, asOf, 70);
    expect(await removeAll(top, asOf, 70)).toEqual(result);
    expect(await kindOf(removeAll(top, asOf + 1, 70))).toBe("Invalid");
    await wire.rig.kill();
    await wire.rig.open();
    const again = await (await wire.greeted()).attach(instanceOf("1"));
    expect(await again.change("removeAll", { folder: ROOT_NODE, name: "top", node: top, asOf }, 70)).toEqual(result);
    expect(wire.rig.volume.seq).toBe(result.seq);
  });

  test("[W120] goes in parts, each of what is below first, whatever changes are kept; what was changed meanwhile ends it", async () => {
    const top = await one.make(ROOT_NODE, "top", "folder");
    const sub = await one.make(top, "sub", "folder");
    await fill(sub, 2 * LIMITS.removeAllNodes + 10);
    await other.find({ isDeep: true, follow: true });
    const asOf = seq();
    const part = (at: number): Promise<Result> =>
      one.change("removeAll", { folder: ROOT_NODE, name: "top", node: top, asOf: at, isPartial: true });
    const first = await part(asOf);
    expect(first.seq).toBe(asOf + LIMITS.removeAllNodes);
    expect(first.node).not.toBe(top);
    const second = await part(asOf);
    expect(second.seq).toBe(first.seq + LIMITS.removeAllNodes);
    await wire.rig.run(wire.rig.volume.meta.forgetChanges(first.seq));
    const late = await other.make(sub, "late");
    expect(await refusal(part(asOf))).toMatchObject({ kind: "Stale", detail: { nodes: [late] } });
    await other.change("remove", { folder: sub, name: "late", node: late, isFolder: false });
    const before = seq();
    expect(await part(asOf)).toMatchObject({ node: top, seq: before + 12 });
    expect(await wire.rig.volume.meta.list(ROOT_NODE, "", 10)).toEqual([]);
  }, 60_000);

  test("[W64] [limit removeAllNodes] of more than its limit is TooLarge, and nothing is removed; its parts can go one after another", async () => {
    const top = await one.make(ROOT_NODE, "top", "folder");
    const sub = await one.make(top, "sub", "folder");
    await fill(sub, LIMITS.removeAllNodes - 1);
    const asOf = seq();
    expect(await refusal(removeAll(top, asOf))).toMatchObject({
      kind: "TooLarge",
      detail: { limit: LIMITS.removeAllNodes },
    });
    expect(seq()).toBe(asOf);
    expect(await kindOf(one.change("removeAll", { folder: top, name: "sub", node: sub, asOf }))).toBe("done");
    expect(await kindOf(removeAll(top, asOf))).toBe("done");
  }, 60_000);

  test("[W15] is answered when the last of its changes is acknowledged by who has a lease", async () => {
    const { top } = await tree();
    await other.renew();
    other.acks = false;
    let isAnswered = false;
    const answer = one.start("removeAll", { folder: ROOT_NODE, name: "top", node: top, asOf: seq() });
    answer.then(
      () => (isAnswered = true),
      () => undefined,
    );
    await wire.rig.clock.advance(1_000);
    other.channel.send(["ack", seq() - 1]);
    await wire.rig.clock.advance(1_000);
    expect(isAnswered).toBe(false);
    other.channel.send(["ack", seq()]);
    await wire.rig.run(answer);
  });
});
