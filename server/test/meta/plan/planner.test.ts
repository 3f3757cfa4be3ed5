// Random histories: the planner against a plain tree, the engines against each other change by change, and a roll
// forward against what was committed.
import { afterAll, expect, test } from "@jest/globals";
import type { NodeState } from "@runnel/shared";
import * as fc from "fast-check";
import { MemoryMetaImage, openMemoryMetaStore } from "../../../src/meta/memory/meta-store.ts";
import type { ExternalOperation, MetaStore, Operation, PlanRequest, Planned } from "../../../src/meta/meta-store.ts";
import { EPOCH, FILE, FOLDER, Harness, ROOT, digestOf, diskRow, replayOf, contentsOf } from "../meta-harness.ts";
import { ModelTree } from "./model-tree.ts";
import { removeFolders, sqlitePlace } from "../sqlite/sqlite-place.ts";

const IS_LONG = process.env["RUNNEL_LONG"] === "1";
const create = { create: { epoch: EPOCH } };

afterAll(removeFolders);

/** Numbers that `Picker` turns into an operation on what the history made so far. */
const step = fc.record({
  kind: fc.constantFrom("make", "make", "folder", "link", "rename", "rename", "remove", "remove", "write", "setAttr"),
  folder: fc.nat(99),
  name: fc.constantFrom("a", "b", "c"),
  toFolder: fc.nat(99),
  toName: fc.constantFrom("a", "b", "c"),
  node: fc.nat(99),
  how: fc.constantFrom("replace", "replace", "keep", "exchange"),
  isRight: fc.nat(9).map((value) => value > 0),
  instance: fc.constantFrom("here", "there"),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const externalStep = fc.record({
  kind: fc.constantFrom(
    "externalMake",
    "externalLink",
    "externalRename",
    "externalRemove",
    "externalAttributes",
    "externalWrite",
    "setRecipe",
    "up",
    "up",
  ),
  folder: fc.nat(99),
  toFolder: fc.nat(99),
  node: fc.nat(99),
  name: fc.constantFrom("a", "b", "c"),
  toName: fc.constantFrom("a", "b", "c"),
});
type ExternalStep = typeof externalStep extends fc.Arbitrary<infer T> ? T : never;

/** Turns steps into operations, knowing what a plain tree holds. */
class Picker {
  readonly tree = new ModelTree();
  readonly h: Harness;
  readonly #newNode: () => Promise<number>;

  constructor(h: Harness, newNode = (): Promise<number> => h.newNode()) {
    this.h = h;
    this.#newNode = newNode;
  }

  node(pick: number): number {
    const ids = [...this.tree.nodes.keys()];
    return ids[pick % ids.length] ?? ROOT;
  }

  /** Mostly one that is still there. */
  folder(pick: number): number {
    const ids = [...this.tree.nodes].filter(([, node]) => node.names !== undefined).map(([id]) => id);
    return pick % 10 === 0 ? this.node(pick) : (ids[pick % ids.length] ?? ROOT);
  }

  async operation({ kind, isRight, ...given }: Step): Promise<Operation> {
    const { name, toName, how } = given;
    const [folder, toFolder, node] = [this.folder(given.folder), this.folder(given.toFolder), this.node(given.node)];
    const bound = this.tree.nodes.get(folder)?.names?.get(name);
    const expected = (isRight ? bound : undefined) ?? node;
    switch (kind) {
      case "link":
        return { op: "link", node, folder, name };
      case "rename":
        return this.h.rename([folder, name], expected, [toFolder, toName], how as "replace" | "keep" | "exchange");
      case "remove":
        return this.h.remove(folder, name, expected, isRight === this.tree.isFolder(expected));
      case "write":
        return this.h.write(node, given.toFolder % 4, `${name}${toName}`.slice(0, given.folder % 3));
      case "setAttr":
        return { op: "setAttr", node, change: { mode: given.folder } };
      default:
        return {
          op: "make",
          folder,
          name,
          node: await this.#newNode(),
          attributes: kind === "folder" ? FOLDER : FILE,
        };
    }
  }
}

/** Path → what is there, of a store. */
async function pathsOf(store: MetaStore, folder = ROOT, prefix = ""): Promise<[string, string][]> {
  const paths: [string, string][] = [];
  for (const { name, state } of await store.list(folder, "", 1000)) {
    const path = `${prefix}/${name}`;
    const recipe = await store.recipe({ node: state.node, seq: state.version });
    const text = Buffer.from(recipe?.digests ?? [])
      .toString()
      .replaceAll("\0", "");
    paths.push([path, state.type === "folder" ? "folder" : text]);
    if (state.type === "folder") paths.push(...(await pathsOf(store, state.node, path)));
  }
  return paths;
}

function linksIn(tree: ModelTree, node: number): number {
  const names = tree.nodes.get(node)?.names;
  if (names === undefined) return tree.namesOf(node).length;
  return 2 + [...names.values()].filter((child) => tree.isFolder(child)).length;
}

test("client operations do to a tree what they do to a plain one, and refuse for the same reasons", async () => {
  const runs = { numRuns: IS_LONG ? 3000 : 150 };
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
    const h = new Harness(await openMemoryMetaStore(new MemoryMetaImage(), create));
    const picker = new Picker(h);
    for (const each of steps) {
      const operation = await picker.operation(each);
      const planned = await h.plan(operation, each.instance);
      const isBeside = planned.ok && operation.op === "write" && planned.result.node !== operation.node;
      const kept = isBeside ? planned.change?.bindings[0] : undefined;
      const refusal = picker.tree.apply(operation, each.instance, kept);
      expect([operation, planned.ok ? undefined : planned.error.kind]).toEqual([operation, refusal]);
    }
    expect((await pathsOf(h.store)).sort()).toEqual(picker.tree.paths().sort());
    for (const [node, { taken }] of picker.tree.nodes) {
      const state = (await h.store.node(node)) as NodeState;
      expect([node, state.nlink]).toEqual([node, taken === undefined ? linksIn(picker.tree, node) : 0]);
    }
    await h.store.close();
  });
  await fc.assert(property, runs);
});

/** Work of one history: batches that were committed, and what was applied. */
type Done =
  | { planned: { request: PlanRequest; planned: Planned }[] }
  | { up: Parameters<MetaStore["recordApplied"]>[0] };

class Pair {
  readonly h: Harness;
  readonly other: Harness;
  readonly picker: Picker;
  readonly done: Done[] = [];

  constructor(memory: MetaStore, sqlite: MetaStore) {
    this.h = new Harness(memory);
    this.other = new Harness(sqlite);
    this.picker = new Picker(this.h, async () => {
      const [node, same] = [await this.h.newNode(), await this.other.newNode()];
      expect(same).toBe(node);
      return node;
    });
  }

  #expecting(operation: Operation, { folder, toFolder, node, isRight }: Step): Operation {
    if ((operation.op !== "rename" && operation.op !== "remove") || node % 2 === 0) return operation;
    const expects = { node: this.picker.node(folder), version: toFolder % 8, own: isRight ? [1, 2, 3] : [] };
    return { ...operation, expects };
  }

  async #external(given: ExternalStep): Promise<ExternalOperation | undefined> {
    const { folder, toFolder, node, name, toName, kind } = given;
    const [from, to] = [this.picker.folder(folder), this.picker.folder(toFolder)];
    const bound = (await this.h.store.lookup(from, name))?.node ?? this.picker.node(node);
    const disk = diskRow(0, 0, "", { handle: digestOf(`${node}`) });
    switch (kind) {
      case "externalMake":
        return { op: kind, folder: from, name, attributes: node % 3 === 0 ? FOLDER : FILE, sizeBytes: node % 4, disk };
      case "externalLink":
        return { op: kind, node: bound, folder: to, name: toName, disk };
      case "externalRename":
        return { op: kind, folder: from, name, node: bound, toFolder: to, toName, disk };
      case "externalRemove":
        return { op: kind, folder: from, name, node: bound };
      case "externalAttributes":
        return { op: kind, node: bound, change: { gid: node }, disk };
      case "externalWrite":
        return { op: kind, node: bound, sizeBytes: node % 4, change: { mtimeNs: BigInt(node) }, disk };
      case "setRecipe": {
        const version = { node: bound, seq: (await this.h.store.node(bound))?.version ?? 0 };
        return { op: kind, version, recipe: { lengths: Uint32Array.of(3), digests: digestOf("r") } };
      }
      default:
        return undefined;
    }
  }

  /** The name as it is in the tree is now on disk, or is no more. */
  async #up(given: ExternalStep): Promise<void> {
    const [folder, name] = [this.picker.folder(given.folder), given.name];
    const state = await this.h.store.lookup(folder, name);
    const { seq } = await this.h.store.facts();
    const put = state === undefined ? [] : [diskRow(state.node, folder, name, { version: state.version })];
    const version = { node: state?.node ?? 0, seq: state?.version ?? 0 };
    const isWritten = state !== undefined && state.sizeBytes > 0;
    const up = {
      put,
      removed: state === undefined ? [{ folder, name }] : [],
      places: isWritten ? [{ version, place: { at: "disk" } as const }] : [],
      appliedSeq: seq,
    };
    await this.h.store.recordApplied(up);
    await this.other.store.recordApplied(up);
    this.done.push({ up });
  }

  async take(given: ExternalStep | Step): Promise<PlanRequest | undefined> {
    if ("how" in given) {
      const operation = await this.picker.operation(given);
      return this.h.request(this.#expecting(operation, given), given.instance);
    }
    if (given.kind === "up") {
      await this.#up(given);
      return undefined;
    }
    const operation = await this.#external(given);
    return operation && this.h.request(operation);
  }

  async batch(given: readonly (ExternalStep | Step)[], isKept: boolean): Promise<void> {
    const requests: PlanRequest[] = [];
    for (const each of given) {
      const request = await this.take(each);
      if (request !== undefined) requests.push(request);
    }
    const [planned, others] = await Promise.all([this.h.store.plan(requests), this.other.store.plan(requests)]);
    expect(others).toEqual(planned);
    if (!isKept) {
      await Promise.all([this.h.store.rollback(), this.other.store.rollback()]);
      return;
    }
    await Promise.all([this.h.commit(requests), this.other.commit(requests)]);
    this.done.push({ planned: requests.map((request, index) => ({ request, planned: planned[index] as Planned })) });
    await this.#learn();
  }

  /** The picker's tree follows the store: external operations are not in the model. */
  async #learn(): Promise<void> {
    const { nodes } = this.picker.tree;
    nodes.clear();
    for (let node = ROOT; node <= 100; node++) {
      const state = await this.h.store.node(node);
      if (state === undefined) continue;
      const entries = state.type === "folder" ? await this.h.store.list(node, "", 1000) : undefined;
      const names = entries && new Map(entries.map((entry) => [entry.name, entry.state.node]));
      nodes.set(node, { names, text: "", taken: undefined });
    }
  }

  /** A third store, made of the log alone. */
  async rolledForward(): Promise<MetaStore> {
    const third = new Harness(await openMemoryMetaStore(new MemoryMetaImage(), create));
    const { first, count } = await this.h.store.allocateNodes(1);
    await this.other.store.allocateNodes(1);
    await third.store.allocateNodes(first + count - 2);
    for (const each of this.done) {
      if ("up" in each) await third.store.recordApplied(each.up);
      else await third.batch(each.planned.filter(({ planned }) => planned.ok).map(replayOf));
    }
    return third.store;
  }
}

test("both engines decide alike and tell the same, and a roll forward makes the same rows", async () => {
  const steps = fc.array(fc.oneof(step, externalStep), { minLength: 1, maxLength: 6 });
  const batches = fc.array(fc.record({ steps, isKept: fc.nat(5).map((value) => value > 0) }), {
    minLength: 1,
    maxLength: 14,
  });
  const property = fc.asyncProperty(batches, async (given) => {
    const pair = new Pair(await openMemoryMetaStore(new MemoryMetaImage(), create), await sqlitePlace().open(create));
    try {
      for (const batch of given) await pair.batch(batch.steps, batch.isKept);
      const third = await pair.rolledForward();
      const [memory, sqlite, rolled] = await Promise.all([
        contentsOf(pair.h.store),
        contentsOf(pair.other.store),
        contentsOf(third),
      ]);
      expect(sqlite).toEqual(memory);
      expect(rolled).toEqual(memory);
      expect(await pair.other.store.withoutRecipe(99)).toEqual(await pair.h.store.withoutRecipe(99));
    } finally {
      await pair.other.store.close();
    }
  });
  await fc.assert(property, { numRuns: IS_LONG ? 500 : 20 });
});
