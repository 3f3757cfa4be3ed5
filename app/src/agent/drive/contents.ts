// Opens and reads: which cached content a program reads from, and bringing what is missing.
import type { Drive } from "@runnel/native/drive";
import type { NodeState } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Downloads } from "../transfer/download.ts";
import type { OwnRecipes } from "../transfer/own-recipes.ts";
import type { ReadAhead } from "../transfer/read-ahead.ts";
import type { Wants } from "../transfer/wants.ts";
import type { RequestOfOp } from "./names.ts";
import type { Tree } from "./tree.ts";

const MiB = 1024 * 1024;
/** Small files come whole; larger ones in windows, wide for whoever reads on. */
const WHOLE_FILE_BYTES = 4 * MiB;
const WINDOW_BYTES = 1 * MiB;
const SEQUENTIAL_WINDOW_BYTES = 8 * MiB;

export class Contents {
  private readonly drive: Drive;
  private readonly tree: Tree;
  private readonly cache: Cache;
  private readonly downloads: Downloads;
  private readonly ownRecipes: OwnRecipes;
  private readonly readAhead: ReadAhead;
  private readonly wants: Wants;
  private readonly settled: (node: number) => Promise<void>;
  /** Contents given to the drive, held against eviction while their node is open. */
  private readonly held = new Map<number, Set<number>>();

  constructor(parts: {
    drive: Drive;
    tree: Tree;
    cache: Cache;
    downloads: Downloads;
    ownRecipes: OwnRecipes;
    readAhead: ReadAhead;
    wants: Wants;
    settled(node: number): Promise<void>;
  }) {
    this.drive = parts.drive;
    this.tree = parts.tree;
    this.cache = parts.cache;
    this.downloads = parts.downloads;
    this.ownRecipes = parts.ownRecipes;
    this.readAhead = parts.readAhead;
    this.wants = parts.wants;
    this.settled = parts.settled;
    this.cache.onEvicted((id) => this.drive.dropContent(id));
  }

  /** `isOffline`: answered from the cache or not at all. */
  async open(request: RequestOfOp<"open">, isOffline: boolean): Promise<void> {
    await this.settled(this.tree.real(request.node));
    const state = await this.tree.node(request.node);
    this.drive.putNode(this.tree.entry(state, request.node), false);
    if (state.version === 0 || state.sizeBytes === 0) {
      this.drive.opened(request.id, { content: 0, version: state.version });
      return;
    }
    if (!request.wantsWrite) this.readAhead.opened(state);
    this.wants.opened(state.node, state.version);
    const content = await this.contentOf(state, isOffline);
    this.give(content);
    this.learnRecipe(content);
    this.drive.opened(request.id, { content: content.id, version: state.version });
  }

  /** Ranges of a content for a program that waits in read(2). */
  async fetch(request: RequestOfOp<"fetch">): Promise<void> {
    const content = this.cache.byId(request.content);
    if (content === undefined) throw new RunnelError("Gone", "read", "The content is no longer in the cache.");
    const needed = { offset: request.offset, length: request.length };
    const window = windowOf(content.sizeBytes, needed, request.ahead > 0);
    try {
      await this.readAhead.arrived(content);
      await this.wants.arrived(content.version);
      this.learnRecipe(await this.downloads.ensure(content, window, "none"));
    } finally {
      // Also after a failure: what came is here.
      this.drive.putRanges(content.id, this.cache.present(content));
    }
    this.drive.done(request.id);
  }

  isOpen(node: number): boolean {
    return this.held.has(node);
  }

  closed(node: number): void {
    const contents = this.held.get(node);
    this.held.delete(node);
    for (const id of contents ?? []) {
      const content = this.cache.byId(id);
      if (content !== undefined) this.cache.release(content);
    }
  }

  hold(content: CachedContent): void {
    const { node } = content.version;
    const contents = this.held.get(node) ?? new Set<number>();
    this.held.set(node, contents);
    if (contents.has(content.id)) return;
    contents.add(content.id);
    this.cache.hold(content);
  }

  /** A file reads from this content from now on. What it read before is let go, unless the drive has another file over that. */
  rebased(content: CachedContent): void {
    this.hold(content);
    const contents = this.held.get(content.version.node);
    for (const id of contents ?? []) {
      if (id === content.id || !this.drive.dropContent(id)) continue;
      contents?.delete(id);
      const former = this.cache.byId(id);
      if (former !== undefined) this.cache.release(former);
    }
  }

  private async contentOf(state: NodeState, isOffline: boolean): Promise<CachedContent> {
    const version = { node: state.node, seq: state.version };
    const cached = this.cache.find(version);
    if (cached !== undefined && cached.sizeBytes === state.sizeBytes) {
      // A small one is ready to be read with its opening; of a larger one each range is proved when it is first read.
      if (cached.sizeBytes <= WHOLE_FILE_BYTES) await this.cache.prove(cached);
      // Its file may just be being made for what is read ahead.
      return this.cache.create(version, state.sizeBytes);
    }
    if (isOffline) throw new RunnelError("Unreachable", "open", "Offline, and this file is not in the cache.");
    return this.cache.create(version, state.sizeBytes);
  }

  /** Meanwhile, for who will write a new file of the same chunks: it is not known to be an edit of this one. */
  private learnRecipe(content: CachedContent): void {
    this.ownRecipes.of(content).catch(() => undefined);
  }

  private give(content: CachedContent): void {
    const { id, path, sizeBytes, version } = content;
    this.hold(content);
    this.drive.putContent({
      id,
      node: version.node,
      version: version.seq,
      path,
      sizeBytes,
      present: this.cache.present(content),
    });
  }
}

function windowOf(
  sizeBytes: number,
  needed: { offset: number; length: number },
  isSequential: boolean,
): { offset: number; length: number } {
  if (sizeBytes <= WHOLE_FILE_BYTES) return { offset: 0, length: sizeBytes };
  const width = Math.max(needed.length, isSequential ? SEQUENTIAL_WINDOW_BYTES : WINDOW_BYTES);
  const length = Math.min(width, sizeBytes - needed.offset);
  return { offset: needed.offset, length: Math.max(0, length) };
}
