// What the server committed, in its order: taken from the meta store's plans, so that it is the server's own word for what happened when.
import type { MetaStore, Operation, Planned, PlanRequest } from "@runnel/server/parts";
import type { Change, Recipe } from "@runnel/shared";

/** One commit. */
export interface Committed {
  seq: number;
  instance: string;
  /** Of the instance's operations; 0 for what programs on the server did. */
  n: number;
  /** One of several that one operation came to. */
  isPart: boolean;
  op: string;
  /** The name that it was about, or the new one of a rename; "" for what has none. */
  name: string;
  change: Change;
  /** On the clock of the simulation, and among the steps of the history. */
  atMs: number;
  step: number;
}

/** A content by its chunks: two with the same key have the same bytes. */
export function keyOf(recipe: Recipe): string {
  return `${[...recipe.lengths].join(",")}:${Buffer.from(recipe.digests).toString("hex")}`;
}

const EMPTY = ":";
const ROOT = 1;

export class Truth {
  readonly commits: Committed[] = [];
  /** By node and version. */
  private readonly contents = new Map<string, string>();
  private readonly names = new Map<string, { seq: number; node: number }[]>();
  private readonly versions = new Map<number, { seq: number; version: number }[]>();
  /** When it is. */
  now: () => { atMs: number; step: number } = () => ({ atMs: 0, step: 0 });

  /** The store that tells of its commits here. */
  follow(store: MetaStore): MetaStore {
    let open: { request: PlanRequest; planned: Planned }[] = [];
    const plan = async (batch: readonly PlanRequest[]): Promise<Planned[]> => {
      const planned = await store.plan(batch);
      open = planned.map((each, index) => ({ request: batch[index] as PlanRequest, planned: each }));
      return planned;
    };
    const commit: MetaStore["commit"] = async (...args) => {
      await store.commit(...args);
      for (const { request, planned } of open) this.take(request, planned);
    };
    return new Proxy(store, {
      get: (target, property) => {
        if (property === "plan") return plan;
        if (property === "commit") return commit;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Commits that a crash took before they were durable did not happen. */
  cutAfter(seq: number): void {
    const kept = this.commits.filter((each) => each.seq <= seq);
    this.commits.length = 0;
    this.names.clear();
    this.versions.clear();
    for (const each of kept) this.keep(each);
  }

  get seq(): number {
    return this.commits.at(-1)?.seq ?? 0;
  }

  /** The node at a path after the commit `seq`, 0 where nothing is. */
  private nodeAt(path: string, seq: number): number {
    let node = ROOT;
    for (const name of path.split("/").filter((part) => part !== "")) {
      node = lastUpTo(this.names.get(`${node}/${name}`), seq)?.node ?? 0;
      if (node === 0) return 0;
    }
    return node;
  }

  /** All nodes that were there at some moment of these. */
  nodesAt(path: string, fromSeq: number, toSeq: number): Set<number> {
    const nodes = new Set<number>();
    for (let seq = fromSeq; seq <= Math.min(toSeq, this.seq); seq++) nodes.add(this.nodeAt(path, seq));
    nodes.delete(0);
    return nodes;
  }

  /** At some moment of these both paths were names of one node. */
  wereOne(path: string, other: string, fromSeq: number, toSeq: number): boolean {
    for (let seq = fromSeq; seq <= Math.min(toSeq, this.seq); seq++) {
      const node = this.nodeAt(path, seq);
      if (node !== 0 && node === this.nodeAt(other, seq)) return true;
    }
    return false;
  }

  /** The content at a path after the commit `seq`: its key, "folder", or undefined where nothing is. */
  at(path: string, seq: number): string | undefined {
    const node = this.nodeAt(path, seq);
    if (node === 0) return undefined;
    const version = lastUpTo(this.versions.get(node), seq)?.version;
    if (version === undefined) return "folder";
    return version === 0 ? EMPTY : (this.contents.get(`${node}/${version}`) ?? EMPTY);
  }

  /** Names in a folder after the commit `seq`, in order; undefined where no folder is. */
  list(path: string, seq: number): string[] | undefined {
    const node = this.nodeAt(path, seq);
    if (node === 0) return undefined;
    const prefix = `${node}/`;
    const names: string[] = [];
    for (const [key, history] of this.names) {
      if (key.startsWith(prefix) && (lastUpTo(history, seq)?.node ?? 0) !== 0) names.push(key.slice(prefix.length));
    }
    return names.toSorted();
  }

  /** The first commit from a step of the history on that gave a node this content. */
  firstWith(key: string, fromStep = 0): number | undefined {
    for (const { seq, change, step } of this.commits) {
      if (step < fromStep) continue;
      for (const { node, version } of change.nodes)
        if (version === seq && this.contents.get(`${node}/${version}`) === key) return seq;
    }
    return undefined;
  }

  private take({ id, operation }: PlanRequest, planned: Planned): void {
    if (!planned.ok || planned.change === undefined) return;
    const { change, result } = planned;
    if (operation.op === "write" && operation.content.recipe !== undefined)
      this.contents.set(`${result.node}/${result.version}`, keyOf(operation.content.recipe));
    // Rolled forward after a stop: known.
    if (change.seq <= this.seq) return;
    this.keep({
      seq: change.seq,
      instance: id?.instance ?? "",
      n: id?.n ?? 0,
      isPart: id?.isPart === true,
      op: operation.op,
      name: nameOf(operation as Operation),
      change,
      ...this.now(),
    });
  }

  private keep(commit: Committed): void {
    this.commits.push(commit);
    const { seq, change } = commit;
    for (const { folder, name, node } of change.bindings) rowsOf(this.names, `${folder}/${name}`).push({ seq, node });
    for (const { node, type, version } of change.nodes)
      if (type === "file") rowsOf(this.versions, node).push({ seq, version });
  }
}

function nameOf(operation: Operation): string {
  if (operation.op === "rename") return operation.toName;
  return "name" in operation ? operation.name : "";
}

function rowsOf<Key, Row>(map: Map<Key, Row[]>, key: Key): Row[] {
  const rows = map.get(key) ?? [];
  map.set(key, rows);
  return rows;
}

function lastUpTo<Row extends { seq: number }>(rows: readonly Row[] | undefined, seq: number): Row | undefined {
  return rows?.findLast((row) => row.seq <= seq);
}
