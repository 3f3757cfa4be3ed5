// Shared by the tests of meta stores: an operation as a batch of its own, with the numbers, log places and clock that a
// volume would give.
import type { Change, ErrorDetail, ErrorKind, NewAttributes, NodeState, Recipe } from "@runnel/shared";
import type { TreeOperationOf } from "@runnel/shared/tree";
import type {
  DiskRow,
  ExternalOperation,
  MetaStore,
  Operation,
  OperationResult,
  Planned,
  PlanRequest,
} from "../../src/meta/meta-store.ts";

export const EPOCH = "0123456789abcdef0123456789abcdef";
export const ROOT = 1;
/** 2026-11-21 03:09:02.5 UTC. */
export const START_NS = 1_795_230_542_500_000_000n;

export const FILE: NewAttributes = { type: "file", mode: 0o644, uid: 1, gid: 2, mtimeNs: 7n, rdev: 0, target: "" };
export const FOLDER: NewAttributes = { ...FILE, type: "folder", mode: 0o755 };

/** A place where an engine keeps one store: it can be opened, closed and opened again. */
export interface Place {
  open(options?: { create?: { epoch: string } }): Promise<MetaStore>;
  discard(): void;
}

/** A recipe of one chunk whose digest is made of its name. */
export function recipeNamed(name: string, sizeBytes: number): Recipe {
  const digests = new Uint8Array(32);
  digests.set(Buffer.from(name).subarray(0, 32));
  return { lengths: Uint32Array.of(sizeBytes), digests };
}

export function digestOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.padEnd(32, ".")).subarray(0, 32));
}

export function diskRow(node: number, folder: number, name: string, more: Partial<DiskRow> = {}): DiskRow {
  const stat = {
    type: "file",
    mode: 0o644,
    uid: 1,
    gid: 2,
    sizeBytes: 3,
    mtimeNs: 1_795_230_542_123_456_789n,
    ctimeNs: 1_795_230_542_123_456_790n,
    dev: 66,
    ino: 1000 + node,
    nlink: 1,
    rdev: 0,
  } as const;
  return { node, folder, name, handle: digestOf(`handle ${node}`), stat, version: 0, ...more };
}

export interface RunResult {
  result: OperationResult;
  change: Change | undefined;
  isRepeated: boolean;
}

export class Harness {
  readonly store: MetaStore;
  wallNs = START_NS;
  #n = 0;
  #nextNode = 0;
  #lastNode = 0;
  #logOffset = 0;

  constructor(store: MetaStore) {
    this.store = store;
  }

  /** An id from the instance's range. */
  async newNode(): Promise<number> {
    if (this.#nextNode >= this.#lastNode) {
      const { first, count } = await this.store.allocateNodes(64);
      this.#nextNode = first;
      this.#lastNode = first + count;
    }
    return this.#nextNode++;
  }

  request(operation: Operation | ExternalOperation, instance = "here"): PlanRequest {
    this.wallNs += 1000n;
    const isExternal = operation.op.startsWith("external") || operation.op === "setRecipe";
    const n = ++this.#n;
    const id = isExternal ? undefined : { instance, n, digest: digestOf(`${instance} ${n}`) };
    return { id, operation, wallNs: this.wallNs };
  }

  async commit(batch: readonly PlanRequest[]): Promise<void> {
    this.#logOffset += 1000;
    const place = { segment: 3, offset: this.#logOffset, length: 100 };
    const writes = batch.flatMap(({ operation }, index) => (operation.op === "write" ? [[index, place] as const] : []));
    await this.store.commit(new Map(writes), { segment: 3, offset: this.#logOffset });
  }

  async batch(requests: readonly PlanRequest[]): Promise<Planned[]> {
    const planned = await this.store.plan(requests);
    await this.commit(requests);
    return planned;
  }

  async plan(operation: Operation | ExternalOperation, instance?: string): Promise<Planned> {
    const [planned] = await this.batch([this.request(operation, instance)]);
    if (planned === undefined) throw new Error("nothing planned");
    return planned;
  }

  /** Must succeed. */
  async run(operation: Operation | ExternalOperation, instance?: string): Promise<RunResult> {
    const planned = await this.plan(operation, instance);
    if (!planned.ok) throw new Error(`${operation.op}: ${planned.error.kind} ${planned.error.message}`);
    return planned;
  }

  /** Must change something. */
  async change(operation: Operation | ExternalOperation, instance?: string): Promise<Change> {
    const { change } = await this.run(operation, instance);
    if (change === undefined) throw new Error(`${operation.op}: no change`);
    return change;
  }

  /** Must be refused: kind and detail. */
  async refused(
    operation: Operation | ExternalOperation,
    instance?: string,
  ): Promise<{ kind: ErrorKind; detail: ErrorDetail }> {
    const planned = await this.plan(operation, instance);
    if (planned.ok) throw new Error(`${operation.op}: not refused`);
    return { kind: planned.error.kind as ErrorKind, detail: planned.error.detail };
  }

  async make(folder: number, name: string, attributes = FILE, instance?: string): Promise<number> {
    const node = await this.newNode();
    return (await this.run({ op: "make", folder, name, node, attributes }, instance)).result.node;
  }

  async folder(folder: number, name: string): Promise<number> {
    return this.make(folder, name, FOLDER);
  }

  write(node: number, base: number, text: string, more: Partial<Extract<Operation, { op: "write" }>> = {}): Operation {
    const sizeBytes = Buffer.byteLength(text);
    const recipe =
      sizeBytes === 0 ? { lengths: new Uint32Array(0), digests: new Uint8Array(0) } : recipeNamed(text, sizeBytes);
    return { op: "write", node, base, content: { recipe, sizeBytes, runs: [], temp: "" }, attributes: {}, ...more };
  }

  remove(folder: number, name: string, node: number, isFolder = false): TreeOperationOf<"remove"> {
    return { op: "remove", folder, name, node, isFolder };
  }

  rename(
    from: [number, string],
    node: number,
    to: [number, string],
    how: "replace" | "keep" | "exchange" = "replace",
  ): TreeOperationOf<"rename"> {
    return { op: "rename", folder: from[0], name: from[1], node, toFolder: to[0], toName: to[1], how };
  }

  /** A file that another program made, on disk and in the tree. */
  async external(folder: number, name: string, sizeBytes = 3): Promise<number> {
    const disk = diskRow(0, folder, name, { handle: digestOf(`made ${folder}/${name}`) });
    const operation = { op: "externalMake", folder, name, attributes: FILE, sizeBytes, disk } as const;
    return (await this.run(operation)).result.node;
  }

  /** Records what applying a commit would: the tree's binding and version are on disk. */
  async up(folder: number, name: string): Promise<void> {
    const state = await this.state(folder, name);
    const { seq } = await this.store.facts();
    const put = [diskRow(state.node, folder, name, { version: state.version })];
    const version = { node: state.node, seq: state.version };
    const places = state.version === 0 ? [] : [{ version, place: { at: "disk" } as const }];
    await this.store.recordApplied({ put, removed: [], places, appliedSeq: seq });
  }

  async state(folder: number, name: string): Promise<NodeState> {
    const state = await this.store.lookup(folder, name);
    if (state === undefined) throw new Error(`no ${name}`);
    return state;
  }

  async names(folder: number): Promise<string[]> {
    return (await this.store.list(folder, "", 1000)).map(({ name }) => name);
  }
}

/** Node ids and operation numbers that `contentsOf` asks for. */
const TOLD_IDS = 120;

/** All that the interface tells of a store. */
export async function contentsOf(store: MetaStore): Promise<object> {
  const ids = Array.from({ length: TOLD_IDS }, (_, index) => index + 1);
  const nodes = await store.nodes(ids);
  const each = await Promise.all(
    ids.map(async (node) => {
      const versions = await store.versionsOf(node);
      const recipes = await Promise.all(versions.map(({ version }) => store.recipe(version)));
      return { versions, recipes, names: await store.namesOf(node), disk: await store.diskRowsOfNode(node) };
    }),
  );
  const results = await Promise.all(ids.map((n) => Promise.all([store.result("here", n), store.result("there", n)])));
  return {
    facts: await store.facts(),
    nodes,
    each,
    results,
    changes: await store.changesAfter(0, 1000),
    attached: await store.attached(),
  };
}

/** The request as the log has it. */
export function replayOf({ request, planned }: { request: PlanRequest; planned: Planned }): PlanRequest {
  if (!planned.ok) throw new Error("a refused operation is not logged");
  const { result, change, operation = request.operation } = planned;
  return { ...request, operation, replayed: { seq: change?.seq ?? result.seq, change, result } };
}
