// Pins of a drive: files and folders that are kept here complete and fresh, and never evicted. What appears in a pinned
// folder is pinned. A pin goes with its file or folder when that is renamed; where programs put another one in its
// place, as editors do, it goes with the path.
import {
  type Change,
  type Clock,
  type DiskRoot,
  type NodeState,
  ROOT_NODE,
  RunnelError,
  type Timer,
  type VersionId,
} from "@runnel/shared";
import prettyBytes from "pretty-bytes";
import type { Cache } from "../cache/cache.ts";
import type { PinStatus } from "../mount-status.ts";
import { nodeAt } from "../replica/node-at.ts";
import type { Replica } from "../replica/replica.ts";
import { FilesBelow } from "./files-below.ts";
import { KeptTree, LOOKED_AT_ONCE } from "./kept-tree.ts";
import { PinFiller, type PinFillerDeps } from "./pin-filler.ts";
import { type Pin, type PinList, PINS_MAX } from "./pin-list.ts";

export interface PinsDeps extends Pick<PinFillerDeps, "downloads" | "readAhead" | "session" | "pauses" | "log"> {
  replica: Replica;
  cache: Cache;
  list: PinList;
  clock: Clock;
  /** May change while the drive is there. */
  settings: { readonly cacheBytes: number };
  /** Disk of the cache. */
  cacheRoot: Pick<DiskRoot, "space">;
}

/** Changes are looked at so long after the first of them: what was saved here is in the cache by then, as a rule. */
const LOOK_AFTER_MS = 1_000;
/** More changed files than that are not followed one by one: all pins are looked through again. */
const CHANGED_MAX = 10_000;
/** Folders of which it is remembered whether they are pinned. */
const KNOWN_MAX = 10_000;

export class Pins {
  readonly #deps: PinsDeps;
  readonly #filler: PinFiller;
  #trees: KeptTree[];
  /** Files, and what has another name, since it was last looked at. */
  readonly #changed = new Set<number>();
  /** Ids among them of what had a name before. */
  readonly #moved = new Set<number>();
  /** Pins that folders lie in; undefined: in none. */
  readonly #known = new Map<number, KeptTree | undefined>();
  /** Pins that lie in no other; undefined: not known now. */
  #outermost: readonly KeptTree[] | undefined;
  #timer: Timer | undefined;
  /** Changes of the list, one after another. */
  #changing: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(deps: PinsDeps) {
    this.#deps = deps;
    this.#trees = deps.list.pins.map((pin) => this.#treeOf(pin));
    deps.cache.keep((version) => this.#keeps(version));
    this.#filler = new PinFiller({
      ...deps,
      isHere: (state) => this.#isHere(state),
      trees: () => this.#trees,
      isTooLarge: () => this.lackingBytes() > 0,
    });
  }

  /** The tree is known, as a former mount left it or the server has told it anew. */
  listed(): void {
    this.#forgetPlaces();
    this.#follow();
    for (const tree of this.#trees) tree.lookAgain();
    this.#filler.wake();
  }

  /** The line is there again. */
  connected(): void {
    this.#filler.wake();
  }

  /** Other things are paused than before. */
  pausesChanged(): void {
    this.#filler.tryAgain();
  }

  /** Takes changes that the replica has. */
  changed(items: readonly Change[]): void {
    if (this.#trees.length === 0) return;
    for (const { nodes, bindings } of items) {
      for (const { node, type } of nodes) if (type === "file") this.#changed.add(node);
      const isMove = bindings.some(({ node }) => node === 0);
      for (const { node } of bindings) {
        if (node === 0) continue;
        this.#changed.add(node);
        if (isMove) this.#moved.add(node);
      }
      if (bindings.length > 0) this.#forgetPlaces();
    }
    this.#lookSoon();
  }

  /** Cached bytes of a file turned out not to be what was written: they are not here any more. */
  damaged(node: number): void {
    if (this.#trees.length === 0) return;
    this.#changed.add(node);
    this.#lookSoon();
  }

  #lookSoon(): void {
    this.#timer ??= this.#deps.clock.after(LOOK_AFTER_MS, () => this.#lookAtChanges());
  }

  /** Returns the pin of a node: its own, or that of a folder above it. */
  pinOf(node: number): Pin | undefined {
    return this.keptBy(node)?.pin;
  }

  /** Returns the pin of a node, and whether all of that is here. */
  keptBy(node: number): Pick<KeptTree, "pin" | "isComplete" | "all" | "here"> | undefined {
    return this.#trees.length === 0 ? undefined : this.#treeAt(node, new Set());
  }

  /**
   * Returns the share of the bytes at and below a node that is here, 1 only for all of its files; undefined where there
   * is more to look at than the entries left, from which it takes those that it looked at.
   */
  shareHere(node: number, left: { entries: number }): number | undefined {
    const entriesMax = Math.min(left.entries, LOOKED_AT_ONCE);
    const below = new FilesBelow(this.#deps.replica, node);
    const files = entriesMax <= 0 ? [] : (below.next(entriesMax) ?? []);
    left.entries -= below.isAtEnd ? files.length + 1 : entriesMax;
    if (!below.isAtEnd) return undefined;
    const bytesOf = (some: readonly NodeState[]): number => some.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const here = files.filter((state) => this.#isHere(state));
    return here.length === files.length ? 1 : bytesOf(here) / bytesOf(files);
  }

  /**
   * Pins what is at a path; durable when it resolves, though it still comes. @throws Quota naming what the cache lacks
   * for it; NoSpace naming what the disk lacks.
   */
  pin(path: string, node: number): Promise<PinStatus> {
    return this.#inTurn(async () => {
      this.#followNow();
      const there = this.#trees.find(({ pin }) => pin.node === node);
      if (there !== undefined) return statusOf(there);
      if (this.#trees.length >= PINS_MAX)
        throw new RunnelError("TooLarge", "pin", `A drive has at most ${PINS_MAX} pins. Pin a folder above some.`);
      const tree = this.#treeOf({ node, path });
      await this.#checkSpace(tree);
      await this.#change([...this.#trees, tree]);
      return statusOf(tree);
    });
  }

  /** Ends a pin; what is here of it stays until its space is needed. @throws NotFound. */
  unpin(path: string): Promise<void> {
    return this.#inTurn(async () => {
      this.#followNow();
      const found = this.#trees.find(({ pin }) => pin.path === path);
      if (found === undefined) throw new RunnelError("NotFound", "unpin", this.#whyNot(path));
      await this.#change(this.#trees.filter((tree) => tree !== found));
    });
  }

  status(): PinStatus[] {
    return this.#trees.map((tree) => ({ ...statusOf(tree), isComplete: tree.isComplete && !this.#lacksOfLate(tree) }));
  }

  /** Returns what pins together need beyond what the cache may take; what lies in several counts once. */
  lackingBytes(): number {
    return this.#lackingOf((this.#outermost ??= this.#outermostOf(this.#trees)));
  }

  /** Says what keeps pins from being filled, a sentence each. */
  problems(): string[] {
    const { cacheBytes } = this.#deps.settings;
    const problems: string[] = [];
    const lacking = this.lackingBytes();
    if (lacking > 0)
      problems.push(
        `What is pinned needs ${shown(lacking)} more than the cache may take (${shown(cacheBytes)}). Unpin something, or let the cache take more.`,
      );
    const failed = this.#trees.flatMap((tree) => [...tree.failed]).filter(([, sentence]) => sentence !== "");
    const [first] = failed;
    if (first !== undefined) {
      const others = failed.length > 1 ? ` and ${failed.length - 1} more` : "";
      const what = this.#deps.replica.pathOf(first[0]) ?? "A file";
      problems.push(`${what}${others} could not be brought for a pin: ${first[1]} It is tried again.`);
    }
    return problems;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#filler.close();
    await this.#changing;
  }

  #treeOf(pin: Pin): KeptTree {
    const { replica, clock } = this.#deps;
    return new KeptTree(pin, { replica, isHere: (state) => this.#isHere(state), nowMs: () => clock.bootMs() });
  }

  #isHere({ node, version, sizeBytes }: NodeState): boolean {
    if (version === 0 || sizeBytes === 0) return true;
    const content = this.#deps.cache.find({ node, seq: version });
    if (content === undefined || content.sizeBytes !== sizeBytes) return false;
    return this.#deps.cache.absent(content, { offset: 0, length: sizeBytes }).length === 0;
  }

  #keeps({ node, seq }: VersionId): boolean {
    return node !== 0 && this.pinOf(node) !== undefined && this.#deps.replica.node(node)?.version === seq;
  }

  #treeAt(node: number, above: Set<number>): KeptTree | undefined {
    const own = this.#trees.find(({ pin }) => pin.node === node);
    if (own !== undefined || node === ROOT_NODE || above.has(node)) return own;
    above.add(node);
    for (const { folder } of this.#deps.replica.namesOf(node)) {
      const tree = this.#treeOfFolder(folder, above);
      if (tree !== undefined) return tree;
    }
    return undefined;
  }

  #treeOfFolder(folder: number, above: Set<number>): KeptTree | undefined {
    if (this.#known.has(folder)) return this.#known.get(folder);
    const tree = this.#treeAt(folder, above);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(folder, tree);
    return tree;
  }

  /** Names or pins have changed. */
  #forgetPlaces(): void {
    this.#known.clear();
    this.#outermost = undefined;
  }

  #followNow(): void {
    for (const tree of this.#follow()) tree.lookAgain();
  }

  #lookAtChanges(): void {
    const { replica } = this.#deps;
    this.#timer = undefined;
    this.#followNow();
    const isMuch = this.#changed.size > CHANGED_MAX;
    if (isMuch) for (const tree of this.#trees) tree.lookAgain();
    for (const node of isMuch ? [] : this.#changed) {
      const state = replica.node(node);
      const holding = this.#treesAbove(node);
      for (const tree of this.#trees) {
        if (!holding.has(tree) || state === undefined) tree.drop(node);
        if (!holding.has(tree) && state?.type === "folder" && this.#moved.has(node)) this.#dropWhatLeft(tree);
      }
      for (const tree of holding) {
        if (state?.type === "folder") tree.lookInto(node);
        else if (state?.type === "file") tree.see(state);
      }
    }
    this.#changed.clear();
    this.#moved.clear();
    this.#filler.wake();
  }

  /** Drops what was below a folder that was moved out of it, perhaps. */
  #dropWhatLeft(tree: KeptTree): void {
    for (const node of tree.missing.keys()) if (!this.#treesAbove(node).has(tree)) tree.drop(node);
  }

  /** Returns whether something is not here of the changes that nobody has looked at yet. */
  #lacksOfLate(tree: KeptTree): boolean {
    if (this.#changed.size > CHANGED_MAX) return true;
    return [...this.#changed].some((node) => {
      const state = this.#deps.replica.node(node);
      const mayLack = state?.type === "file" ? !this.#isHere(state) : state?.type === "folder" && this.#moved.has(node);
      return mayLack && this.#treesAbove(node).has(tree);
    });
  }

  /** Returns the pins that a node is below, by any of its names, or is. */
  #treesAbove(node: number): Set<KeptTree> {
    const above = this.#above(node);
    return new Set(this.#trees.filter(({ pin }) => above.has(pin.node)));
  }

  /** Returns a node and all folders above it, by any of its names. */
  #above(node: number): Set<number> {
    const above = new Set([node]);
    for (const at of above) for (const { folder } of this.#deps.replica.namesOf(at)) above.add(folder);
    return above;
  }

  /** Brings pins and paths together again. @returns those that are at another file or folder than before. */
  #follow(): KeptTree[] {
    const { replica, list } = this.#deps;
    const facts = replica.facts();
    if (facts === undefined || this.#trees.length === 0) return [];
    const isOtherEpoch = list.epoch !== facts.epoch;
    const moved = this.#trees.filter((tree) => {
      const before = tree.pin;
      const path = isOtherEpoch || before.node === 0 ? undefined : replica.pathOf(before.node);
      if (path === undefined) tree.pin = { ...before, node: nodeAt(this.#deps.replica, before.path) };
      else if (path !== before.path) tree.pin = { ...before, path };
      return tree.pin.node !== before.node;
    });
    if (moved.length > 0) this.#forgetPlaces();
    if (isOtherEpoch || this.#trees.some(({ pin }, index) => pin !== list.pins[index]))
      this.#inTurn(() => this.#store(this.#trees)).catch((error: unknown) =>
        this.#deps.log("The list of pins could not be written.", error),
      );
    return moved;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const ended = this.#changing.then(() => {
      if (this.#isClosed) throw new RunnelError("Interrupted", "pin", "The drive is being unmounted.");
      return work();
    });
    this.#changing = ended.catch(() => undefined);
    return ended;
  }

  /** Puts other pins in place of those there are, on the disk first. */
  async #change(trees: KeptTree[]): Promise<void> {
    await this.#store(trees);
    this.#trees = trees;
    this.#forgetPlaces();
    this.#filler.wake();
  }

  async #store(trees: readonly KeptTree[]): Promise<void> {
    const { list, replica } = this.#deps;
    const pins = trees.map(({ pin }) => pin);
    await list.replace(replica.facts()?.epoch ?? "", pins);
  }

  /** Bytes that outermost pins need beyond what the cache may take. */
  #lackingOf(outermost: readonly KeptTree[]): number {
    const bytes = outermost.reduce((sum, { all }) => sum + all.bytes, 0);
    return Math.max(0, bytes - this.#deps.settings.cacheBytes);
  }

  #outermostOf(trees: readonly KeptTree[]): readonly KeptTree[] {
    const there = trees.filter(({ pin }) => pin.node !== 0);
    return there.filter(({ pin: { node } }) => {
      const above = this.#above(node);
      above.delete(node);
      return !there.some(({ pin }) => above.has(pin.node));
    });
  }

  async #checkSpace(tree: KeptTree): Promise<void> {
    const { cache, cacheRoot, settings } = this.#deps;
    const { cacheBytes } = settings;
    const lacking = this.#lackingOf(this.#outermostOf([...this.#trees, tree]));
    const what = tree.pin.path === "" ? "The whole drive" : tree.pin.path;
    if (lacking > 0)
      throw new RunnelError(
        "Quota",
        "pin",
        `${what} (${shown(tree.all.bytes)}) is not pinned: it needs ${shown(lacking)} more than the cache may take (${shown(cacheBytes)}) beside what is pinned already. Unpin something, or let the cache take more.`,
      );
    const { availableBytes } = await cacheRoot.space();
    // The cache may have some of it already; the rest gives way to it.
    const lackingHere = tree.all.bytes - availableBytes - cache.usedBytes();
    if (lackingHere > 0)
      throw new RunnelError(
        "NoSpace",
        "pin",
        `${what} (${shown(tree.all.bytes)}) is not pinned: this computer's disk lacks ${shown(lackingHere)} for it. Make room there.`,
      );
  }

  #whyNot(path: string): string {
    const node = nodeAt(this.#deps.replica, path);
    const pin = node === 0 ? undefined : this.pinOf(node);
    const what = path === "" ? "The whole drive" : path;
    if (pin === undefined) return `${what} is not pinned. "runnel status" shows what is.`;
    return `${what} is pinned with ${pin.path === "" ? "the whole drive" : pin.path}. Unpin that.`;
  }
}

function statusOf(tree: KeptTree): PinStatus {
  const { pin, all, here, isComplete } = tree;
  return { path: pin.path, isThere: pin.node !== 0, all, here, isComplete };
}

function shown(bytes: number): string {
  return prettyBytes(bytes, { binary: true });
}
