// Records what the server committed, in its order: taken from the meta store's plans, so that it is the server's own
// word for what happened when.
import type { MetaStore, Operation, Planned, PlanRequest } from "@runnel/server/internals";
import type { Recipe } from "@runnel/shared";

/** The outcome of a plan. */
export interface Decided {
  seq: number;
  instance: string;
  /** Number among the instance's operations; 0 for what programs on the server did. */
  n: number;
  /** True for each of several that one operation came to. */
  isStep: boolean;
  op: string;
  /** The name that it was about, or the new one of a rename; "" for what has none. */
  name: string;
  /** True of a rename that went beside what others had put there unseen, or to where its target is now (rule W186). */
  isBeside: boolean;
  /** Names, and what they are bound to from now on: 0 for nothing. */
  bindings: { folder: number; name: string; node: number }[];
  nodes: { node: number; isFile: boolean; version: number }[];
  /** The content of the version that a write made; `over`: the version that was edited. */
  content?: { node: number; version: number; key: string; over: { node: number; version: number } };
}

/** A commit of the server. */
export interface Committed extends Decided {
  /** Client whose instance it is; "" for programs on the server. */
  client: string;
  /** On the clock of the run, and among the steps of the history. */
  atMs: number;
  step: number;
}

/** A content by its chunks: two with the same key have the same bytes. */
export function keyOf(recipe: Recipe): string {
  return `${[...recipe.lengths].join(",")}:${Buffer.from(recipe.digests).toString("hex")}`;
}

/** Size of the content with this key. */
export function sizeOf(key: string): number {
  const lengths = key.slice(0, key.indexOf(":")).split(",");
  return lengths.reduce((sum, length) => sum + Number(length), 0);
}

/** Returns undefined when nothing changed. */
export function decidedOf({ id, operation }: PlanRequest, planned: Planned): Decided | undefined {
  if (!planned.ok || planned.change === undefined) return undefined;
  const { change, result } = planned;
  return {
    seq: change.seq,
    instance: id?.instance ?? "",
    n: id?.n ?? 0,
    isStep: id?.isStep === true,
    op: operation.op,
    name: nameOf(operation as Operation),
    isBeside: operation.op === "rename" && (result.conflict || isElsewhere(operation as Operation, change.bindings)),
    bindings: change.bindings.map(({ folder, name, node }) => ({ folder, name, node })),
    nodes: change.nodes.map(({ node, type, version }) => ({ node, isFile: type === "file", version })),
    ...(operation.op === "write" && operation.content.recipe !== undefined
      ? {
          content: {
            node: result.node,
            version: result.version,
            key: keyOf(operation.content.recipe),
            over: { node: operation.node, version: operation.base },
          },
        }
      : {}),
  };
}

function isElsewhere(operation: Operation, bindings: Decided["bindings"]): boolean {
  return bindings.every(({ name, node }) => node === 0 || name !== nameOf(operation));
}

/** Key of a content that a program on the server wrote, of which the server has no digests yet. */
export const UNKNOWN = "?";

/** Count of the newest commits that a client may not have heard of when it opens a file. */
export const UNHEARD_MAX = 20;
/** The key of no bytes. */
export const EMPTY = ":";
const ROOT = 1;

export class Truth {
  readonly commits: Committed[] = [];
  /** Keys of contents, by node and version. */
  private readonly contents = new Map<string, string>();
  private readonly names = new Map<string, { seq: number; node: number }[]>();
  private readonly versions = new Map<number, { seq: number; version: number }[]>();
  private readonly clientOf: (instance: string) => string;
  /** Write leases that ended because their holder could not be reached. */
  readonly ranOut: { client: string; atMs: number; step: number }[] = [];
  /** When it is. */
  now: () => { atMs: number; step: number } = () => ({ atMs: 0, step: 0 });

  constructor(clientOf: (instance: string) => string) {
    this.clientOf = clientOf;
  }

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
      for (const { request, planned } of open) {
        const { operation } = request;
        if (operation.op === "setRecipe" && planned.ok)
          this.contents.set(`${operation.version.node}/${operation.version.seq}`, keyOf(operation.recipe));
        const decided = decidedOf(request, planned);
        if (decided !== undefined) this.take({ ...decided, client: this.clientOf(decided.instance), ...this.now() });
      }
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

  /** Says whether no content of a file had been committed up to that seq. */
  isUnwritten(node: number, seq: number): boolean {
    return lastUpTo(this.versions.get(node), seq)?.version === 0;
  }

  /** Says whether a file had that content at some moment up to that seq. */
  hasHad(node: number, key: string, seq: number): boolean {
    const versions = this.versions.get(node) ?? [];
    return versions.some((each) => each.seq <= seq && this.contents.get(`${node}/${each.version}`) === key);
  }

  /** The content at a path after the commit `seq`: its key, "folder", or undefined where nothing is. */
  at(path: string, seq: number): string | undefined {
    return this.whatAt(this.nodeAt(path, seq), seq);
  }

  /**
   * All that somebody may have taken a path for who put it together from a name and attributes that were each so at
   * some moment of these. Folders on the way are never renamed or removed.
   */
  observableAt(path: string, fromSeq: number, toSeq: number): Set<string | undefined> {
    const seen = new Set<string | undefined>();
    const until = Math.min(toSeq, this.seq);
    for (let seq = fromSeq; seq <= until; seq++) {
      const node = this.nodeAt(path, seq);
      if (node === 0) seen.add(undefined);
    }
    for (const node of this.nodesAt(path, fromSeq, toSeq))
      for (let seq = fromSeq; seq <= until; seq++) seen.add(this.whatAt(node, seq));
    return seen;
  }

  /**
   * All that somebody may have read who found a path bound at some moment of these, and read what it was bound to then
   * or later.
   */
  readableAt(path: string, fromSeq: number, toSeq: number): Set<string | undefined> {
    const found = new Set<number>();
    const seen = new Set<string | undefined>();
    for (let seq = fromSeq; seq <= Math.min(toSeq, this.seq); seq++) {
      found.add(this.nodeAt(path, seq));
      for (const node of found) seen.add(this.whatAt(node, seq));
    }
    return seen;
  }

  /** All that is there after the last commit, a line each. */
  tree(path = ""): string[] {
    return (this.list(path, this.seq) ?? []).flatMap((name) => {
      const below = path === "" ? name : `${path}/${name}`;
      const what = this.at(below, this.seq);
      return what === "folder" ? [`${below}/`, ...this.tree(below)] : [`${below} ${what}`];
    });
  }

  private whatAt(node: number, seq: number): string | undefined {
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
    for (const { seq, nodes, step } of this.commits) {
      if (step < fromStep) continue;
      for (const { node, version } of nodes)
        if (version === seq && this.contents.get(`${node}/${version}`) === key) return seq;
    }
    return undefined;
  }

  /** The content of a version; undefined: of none that was ever committed, or of an empty one. */
  contentOf({ node, version }: { node: number; version: number }): string | undefined {
    return this.contents.get(`${node}/${version}`);
  }

  /** Count of the names to which a node is bound after the last commit. */
  namesOf(node: number): number {
    let names = 0;
    for (const history of this.names.values()) if (history.at(-1)?.node === node) names += 1;
    return names;
  }

  /** Client whose commit took a node's name last; undefined when nobody's did. */
  lastTakenBy(node: number): string | undefined {
    let last: { seq: number; client: string } | undefined;
    for (const [key, history] of this.names) {
      for (const [index, { seq }] of history.entries()) {
        if (history[index - 1]?.node !== node || seq < (last?.seq ?? 0)) continue;
        const by = this.commits.find(
          (each) => each.seq === seq && each.bindings.some((one) => `${one.folder}/${one.name}` === key),
        );
        if (by !== undefined) last = { seq, client: by.client };
      }
    }
    return last?.client;
  }

  /** Takes commits in the order of their seqs. */
  take(commit: Committed): void {
    const { content } = commit;
    if (content !== undefined) this.contents.set(`${content.node}/${content.version}`, content.key);
    // Rolled forward after a stop: known.
    if (commit.seq <= this.seq) return;
    if (commit.instance === "")
      for (const { node, isFile, version } of commit.nodes)
        if (isFile && version === commit.seq) this.contents.set(`${node}/${version}`, UNKNOWN);
    this.keep(commit);
  }

  private keep(commit: Committed): void {
    this.commits.push(commit);
    const { seq, bindings, nodes } = commit;
    for (const { folder, name, node } of bindings) rowsOf(this.names, `${folder}/${name}`).push({ seq, node });
    for (const { node, isFile, version } of nodes) if (isFile) rowsOf(this.versions, node).push({ seq, version });
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
