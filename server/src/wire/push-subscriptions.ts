// Files whose small changes a client wants with the feed (W65): which version of each it holds, and what a new one
// differs from that by. The change itself is never kept waiting: its item says that the content follows.
import type { Change, Recipe, VersionId } from "@runnel/shared";
import { HeldChunks, LIMITS, RunPacker, encodeRecipeDelta, isRunnelError } from "@runnel/shared";
import { readRun } from "../content/version-reader.ts";
import type { Volume } from "../volume/volume.ts";
import type { Delta } from "./encode-run.ts";
import { DeltaEncoder } from "./encode-run.ts";
import { fetchRuns } from "./fetch-runs.ts";

/** New chunks that are read and compressed: more hardly shrinks to what may be sent. */
const RAW_BYTES_MAX = 16 * LIMITS.wantedBytes;
/** Bytes that surround a recipe's bytes, as those of a run. */
const HEAD_BYTES = 16;

/** Difference as it is sent: see FEED_FROM_SERVER. */
type SentDifference = [number, number, unknown[], unknown[][]];

interface FeedReader {
  /** Tells whether the client keeps up with its feed. */
  isInTime(): boolean;
  /** Tells whether so much lies unread that no content is to be sent. */
  isFarBehind(): boolean;
}

export class PushSubscriptions {
  private readonly volume: Volume;
  private readonly send: (item: unknown[]) => void;
  private readonly reader: FeedReader;
  /** Versions that the client holds, by node; the last one said comes last. */
  private readonly held = new Map<number, number>();
  /** Contents are sent in the order of their changes: each may be against the one before. */
  private sending: Promise<void> = Promise.resolve();

  constructor(volume: Volume, send: (item: unknown[]) => void, reader: FeedReader) {
    this.volume = volume;
    this.send = send;
    this.reader = reader;
  }

  /** 0: no more. */
  say(wanted: readonly (readonly [number, number])[]): void {
    for (const [node, version] of wanted) {
      this.held.delete(node);
      if (version > 0) this.held.set(node, version);
    }
    for (const node of this.held.keys()) {
      if (this.held.size <= LIMITS.wantedFiles) return;
      this.held.delete(node);
    }
  }

  has(node: number): boolean {
    return this.held.has(node);
  }

  /** Returns the files that were said, the last one last. */
  nodes(): number[] {
    return [...this.held.keys()];
  }

  /** Whoever made a version holds it. */
  made(changes: readonly Change[]): void {
    for (const { node, seq } of versionsOf(changes)) if (this.held.has(node)) this.held.set(node, seq);
  }

  /** Returns those of the versions that the changes made whose contents are sent next. */
  of(changes: readonly Change[]): VersionId[] {
    if (this.held.size === 0 || !this.reader.isInTime() || this.reader.isFarBehind()) return [];
    return versionsOf(changes).filter((version) => this.held.has(version.node) && this.volume.recipes.has(version));
  }

  /** Notes that the versions are being sent; to be called once that has been said. */
  follow(versions: readonly VersionId[]): void {
    for (const version of versions) {
      this.sending = this.sending.then(async () => {
        const difference = this.reader.isFarBehind() ? undefined : await this.difference(version);
        if (difference !== undefined && this.held.get(version.node) === difference[0])
          this.held.set(version.node, version.seq);
        this.send(["content", [version.node, version.seq], difference ?? null]);
      });
    }
  }

  /** Returns undefined when there is none so small. */
  private async difference(version: VersionId): Promise<SentDifference | undefined> {
    const seq = this.held.get(version.node);
    if (seq === undefined) return undefined;
    try {
      const [recipe, before] = await Promise.all([
        this.volume.recipes.get(version),
        this.volume.recipes.get({ node: version.node, seq }),
      ]);
      if (recipe === undefined || before === undefined) return undefined;
      return await this.encode(version, recipe, { version: { node: version.node, seq }, recipe: before });
    } catch (error) {
      // Gone, destroyed, changed just now: whoever opens it finds out.
      if (!isRunnelError(error)) throw error;
      return undefined;
    }
  }

  private async encode(
    version: VersionId,
    recipe: Recipe,
    held: { version: VersionId; recipe: Recipe },
  ): Promise<SentDifference | undefined> {
    const { volume } = this;
    const chunks = new HeldChunks([held.recipe]);
    const parts = encodeRecipeDelta(recipe, chunks);
    const open = await volume.content.open(version);
    // Little enough for any line to be worth the most.
    const packer = new RunPacker<Delta>(volume.executor, () => 0);
    const deltas = new DeltaEncoder(volume, packer, recipe, [held]);
    try {
      const settings = { held: chunks, wholeBytes: Infinity, border: open.sizeBytes, runBytes: () => LIMITS.runBytes };
      const missing = [...fetchRuns(recipe, 0, open.sizeBytes, settings)];
      let sentBytes = 0;
      for (const part of parts) sentBytes += HEAD_BYTES + (part instanceof Uint8Array ? part.length : 0);
      if (missing.reduce((sum, run) => sum + run.length, 0) > RAW_BYTES_MAX) return undefined;
      const runs: unknown[][] = [];
      for (const run of missing) {
        const bytes = await readRun(open, recipe, run, volume.executor);
        const { encoding, encoded } = await deltas.encode(bytes, run);
        sentBytes += HEAD_BYTES + encoded.length;
        runs.push([run.from, run.count, encoding, bytes.length, encoded]);
      }
      if (sentBytes > LIMITS.wantedBytes) return undefined;
      return [held.version.seq, open.sizeBytes, parts, runs];
    } finally {
      await deltas.close();
      await open.close();
    }
  }
}

/** Contents that changes made. */
function versionsOf(changes: readonly Change[]): VersionId[] {
  return changes.flatMap(({ seq, nodes }) =>
    nodes.filter((state) => state.type === "file" && state.version === seq).map(({ node }) => ({ node, seq })),
  );
}
