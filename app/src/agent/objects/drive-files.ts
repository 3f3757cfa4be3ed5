// Files of a volume over the services of its mount, whether a kernel shows it or not. Changes go to the server at once,
// in either write mode; what the drive shows of them comes with the feed, as those of other clients do.
import type { ByteRange } from "@runnel/native/drive";
import { WINDOWS_PERSON } from "@runnel/native/drive";
import {
  type ChunkKind,
  type Entry,
  FIXED_CHUNKS_FEATURE,
  type NodeState,
  type Recipe,
  type VersionId,
  ROOT_NODE,
  RunnelError,
  UNTIL_XATTR,
  checkResult,
  formatUntil,
  isCutAs,
  isFastLine,
  isRunnelError,
  packType,
  parseUntil,
  presetFor,
  presetOf,
  untilAborted,
} from "@runnel/shared";
import type { CachedContent, Hold } from "../cache/cache.ts";
import { attributesIn } from "../drive/new-attributes.ts";
import type { MountDeps } from "../mounted-volume/mount-deps.ts";
import type { MountServices } from "../mounted-volume/wiring.ts";
import { CutContent } from "../transfer/cut-content.ts";
import { fewerReferences, type WriteResult } from "../transfer/upload.ts";
import type { References } from "../transfer/upload-plan.ts";
import { SourceContent } from "./source-content.ts";
import type { FileFacts, FileSource, NamedFile, OpenedFile, VolumeFiles, WriteOptions } from "./volume-files.ts";

export type DriveFilesDeps = Pick<MountDeps, "settings" | "clock" | "executor" | "replica" | "cache"> &
  Pick<
    MountServices,
    | "commits"
    | "tree"
    | "session"
    | "changes"
    | "operations"
    | "transfer"
    | "watch"
    | "folderPauses"
    | "writeBack"
    | "figures"
  >;

const FOLDER_MODE = 0o755;
/** An attempt to make what somebody else makes in the same moment, or removes. */
const ATTEMPTS_MAX = 4;

export class DriveFiles implements VolumeFiles {
  readonly #deps: DriveFilesDeps;

  constructor(deps: DriveFilesDeps) {
    this.#deps = deps;
  }

  get url(): string {
    return this.#deps.settings.url;
  }

  mayChange(operation: string): void {
    this.#deps.operations.mayChange(operation);
  }

  async find(path: string): Promise<FileFacts | undefined> {
    return (await this.#stateAt(path)) ?? undefined;
  }

  async list(path: string): Promise<NamedFile[]> {
    const state = await this.#stateAt(path);
    if (state === undefined) throw notFound("list", path);
    if (state.type !== "folder") throw new RunnelError("NotFolder", "list", `${path} is no folder.`);
    return (await this.#deps.tree.entries(state.node)).map(({ name, state: each }) => ({ ...factsOf(each), name }));
  }

  async makeFolders(path: string): Promise<void> {
    await this.#folderAt(path);
  }

  async open(path: string): Promise<OpenedFile> {
    const { cache, transfer, changes, commits } = this.#deps;
    const before = await this.#stateAt(path);
    // A program may just have closed it: the server has that, and the cache soon.
    if (before !== undefined) await commits.settled(before.node);
    const state = await this.#stateAt(path);
    if (state === undefined) throw notFound("open", path);
    mustBeFile(state, path);
    if (changes.savesOf(state.node).length > 0)
      throw new RunnelError("Busy", "open", `${path} has changes here that the server does not have yet.`);
    if (state.version === 0 || state.sizeBytes === 0) return new OpenedVersion(this.#deps, state, undefined);
    const version = { node: state.node, seq: state.version };
    const hold = await cache.create(version, state.sizeBytes);
    try {
      await transfer.downloads.bringRecipe(hold.content, "requestTimeout");
      return new OpenedVersion(this.#deps, state, hold);
    } catch (error) {
      hold[Symbol.dispose]();
      throw error;
    }
  }

  async write(path: string, source: FileSource, how: WriteOptions): Promise<VersionId> {
    const { tree, writeBack } = this.#deps;
    this.mayChange("write");
    if (how.chunks === "fixed" && source.sizeBytes > 0) await this.#mustCutFixed();
    const { folder, name } = await this.#placeOf(path);
    const before = await tree.lookup(folder, name);
    writeBack.mustGo("write", before === undefined ? [folder] : [folder, before.node]);
    if (before !== undefined) mustBeFile(before, path);
    const state = before ?? (await this.#ofName(folder, name, "file", source.mode));
    mustBeFile(state, path);
    try {
      if (how.until !== undefined) await this.#lengthen(state, how.until);
      const { node, version } = await this.#send(path, state, source, how);
      return { node, seq: version };
    } catch (error) {
      if (before === undefined) await this.#takeBack(folder, name, state.node);
      throw error;
    }
  }

  async liveUntil(path: string, seconds: number): Promise<number> {
    const state = await this.#stateAt(path);
    if (state === undefined) throw notFound("keep", path);
    return this.#lengthen(state, seconds);
  }

  async noteRecipe(path: string, recipe: Recipe, oid: Uint8Array): Promise<void> {
    const state = await this.#stateAt(path);
    if (state === undefined || state.version === 0 || state.sizeBytes === 0) return;
    const { cache } = this.#deps;
    using hold = await cache.create({ node: state.node, seq: state.version }, state.sizeBytes);
    if (cache.byId(hold.content.id)?.recipe === undefined) cache.setRecipe(hold.content, recipe, oid);
  }

  async cut(source: FileSource, chunks: ChunkKind): Promise<{ recipe: Recipe; oid: Uint8Array }> {
    const { recipe } = source;
    const known = recipe !== undefined && isCutAs(recipe, chunks) ? recipe : undefined;
    return this.#cutOf(new SourceContent({ ...source, recipe: known }), chunks).whole();
  }

  /** @throws Unsupported; Unreachable while it is not known. */
  async #mustCutFixed(): Promise<void> {
    const { session } = this.#deps;
    await session.current();
    if (session.features.includes(FIXED_CHUNKS_FEATURE)) return;
    throw new RunnelError("Unsupported", "put", "This server is of an older version, and knows no fixed chunks.");
  }

  /** Follows a path, but no symlinks. */
  async #stateAt(path: string): Promise<NodeState | undefined> {
    const { tree, session } = this.#deps;
    if (path === "") return tree.node(ROOT_NODE);
    // Without a link what is known here counts: an object is what its OID says, however old the knowledge of it.
    await session.current().catch((error: unknown) => {
      if (!isRunnelError(error, "Unreachable")) throw error;
    });
    return (await tree.find(path))?.state;
  }

  async #placeOf(path: string): Promise<{ folder: number; name: string }> {
    const at = path.lastIndexOf("/");
    const above = path.slice(0, Math.max(0, at));
    const state = await this.#stateAt(above);
    if (state === undefined) throw notFound("write", above);
    if (state.type !== "folder") throw new RunnelError("NotFolder", "write", `${above} is no folder.`);
    return { folder: state.node, name: path.slice(at + 1) };
  }

  async #folderAt(path: string): Promise<NodeState> {
    const { tree } = this.#deps;
    let state = await tree.node(ROOT_NODE);
    for (const name of path.split("/").filter((word) => word !== "")) {
      const next: NodeState = await this.#ofName(state.node, name, "folder", FOLDER_MODE);
      if (next.type !== "folder") throw new RunnelError("NotFolder", "make a folder", `${path} leads through a file.`);
      state = next;
    }
    return state;
  }

  /** Has what a name is bound to, which is made where there is nothing. */
  async #ofName(folder: number, name: string, type: "file" | "folder", mode: number): Promise<NodeState> {
    for (let attempt = 1; ; attempt++) {
      const known = await this.#deps.tree.lookup(folder, name);
      if (known !== undefined) return known;
      try {
        return await this.#make(folder, name, type, mode);
      } catch (error) {
        // Somebody else was first.
        if (!isRunnelError(error, "Exists") || attempt === ATTEMPTS_MAX) throw error;
        await this.#deps.session.current();
      }
    }
  }

  async #make(folder: number, name: string, type: "file" | "folder", mode: number): Promise<NodeState> {
    const { tree, operations, clock, writeBack } = this.#deps;
    this.mayChange("make");
    writeBack.mustGo("make", [folder]);
    const node = await operations.newNode();
    const parent = await tree.node(folder);
    const timeNs = clock.wallNs();
    const owner = { uid: process.getuid?.() ?? WINDOWS_PERSON.uid, gid: process.getgid?.() ?? WINDOWS_PERSON.gid };
    const about = { type, mode, rdev: 0, target: "" };
    const attributes = attributesIn(parent, about, tree.ownerOfNew(parent, owner), timeNs);
    const body = { timeNs, folder, name, node, attributes: { ...attributes, type: packType(type) } };
    const result = checkResult("make", await operations.change("make", body));
    if (type === "folder" && result.node === node) tree.madeFolder(node, result.seq);
    return tree.node(result.node);
  }

  /** Removes a file that was made for what could not be written, unless somebody else has written to it. */
  async #takeBack(folder: number, name: string, node: number): Promise<void> {
    const expects = { node, version: 0, own: [] };
    const body = { folder, name, node, isFolder: false, expects };
    await this.#deps.operations.change("remove", body).catch(() => undefined);
  }

  async #untilOf({ node, xattrSeq }: NodeState): Promise<number | undefined> {
    if (xattrSeq === undefined) return undefined;
    const { xattrs } = checkResult("xattrs", await this.#deps.session.ask("xattrs", { node }));
    return parseUntil(xattrs.find(([name]) => name === UNTIL_XATTR)?.[1]);
  }

  async #lengthen(state: NodeState, seconds: number): Promise<number> {
    const known = await this.#untilOf(state);
    if (known !== undefined && known >= seconds) return known;
    await this.#setUntil(state.node, seconds);
    return seconds;
  }

  async #setUntil(node: number, seconds: number): Promise<void> {
    const { operations, tree } = this.#deps;
    await operations.change("setAttr", { node, change: { xattr: [UNTIL_XATTR, formatUntil(seconds)] } });
    tree.pending.toldXattrs.delete(node);
  }

  #cutOf(content: SourceContent, chunks: ChunkKind | undefined): CutContent {
    const { recipe, sizeBytes } = content.source;
    const shown = chunks === undefined && recipe !== undefined ? presetOf(recipe) : undefined;
    const preset = shown ?? presetFor(sizeBytes, chunks);
    return new CutContent(content, this.#deps.executor, preset, recipe);
  }

  async #send(path: string, state: NodeState, source: FileSource, how: WriteOptions): Promise<WriteResult> {
    const { watch, changes, folderPauses, operations, figures } = this.#deps;
    using passage = folderPauses.enter("write", [state.node], path);
    const change = changes.begin();
    try {
      const { n } = change;
      const { sizeBytes } = source;
      const subject = { direction: "up" as const, file: path, totalBytes: sizeBytes, n, workedBytes: sizeBytes };
      using transfer = watch.transfers.begin(subject);
      const cut = this.#cutOf(new SourceContent(source, how.progress), how.chunks);
      const paused = AbortSignal.any([passage.signal, how.signal]);
      const result = await this.#deliver({ cut, source, state, n, paused, transfer });
      transfer.succeeded();
      figures.pastKernel.writtenBytes += sizeBytes;
      operations.report(undefined);
      return result;
    } catch (error) {
      operations.report(error);
      throw error;
    } finally {
      changes.step(change, "settle");
    }
  }

  /** Tries until committed, refused, paused, or the request timeout is over. */
  async #deliver({ cut, source, state, n, paused, transfer }: Delivery): Promise<WriteResult> {
    const { session, changes, clock, transfer: services } = this.#deps;
    const isLineFast = isFastLine(session.ratePerSecond);
    const beganMs = session.nowMs;
    const timeNs = clock.wallNs();
    let references: References = "copies";
    let isResumed = false;
    for (;;) {
      paused.throwIfAborted();
      const known = source.version?.url === this.url ? source.version.known : undefined;
      const base = references === "copies" || references === "base" ? known : undefined;
      const asksFirst = base === undefined && references !== "none";
      try {
        const sending = services.uploads.send(
          { cut, base, references, isLineFast, transfer, asksFirst },
          {
            n,
            received: () => changes.received,
            node: state.node,
            base: state.version,
            mtimeNs: source.mtimeNs,
            ctimeNs: timeNs,
            isResumed,
            after: [],
            paused,
          },
        );
        return await session.withRequestTimeout(sending, "write");
      } catch (error) {
        const fewer = fewerReferences(references, error);
        if (fewer !== undefined) {
          references = fewer;
          if (references === "none") cut.begin();
        } else if (isRunnelError(error, "Unreachable") && !paused.aborted) {
          await session.responsive(session.timeoutLeftMs(beganMs));
          isResumed = true;
        } else throw error;
      }
    }
  }
}

interface Delivery {
  cut: CutContent;
  source: FileSource;
  state: NodeState;
  n: number;
  paused: AbortSignal;
  transfer: ReturnType<MountServices["watch"]["transfers"]["begin"]>;
}

class OpenedVersion implements OpenedFile {
  readonly type = "file";
  readonly sizeBytes: number;
  readonly mtimeNs: bigint;
  readonly mode: number;
  readonly #deps: DriveFilesDeps;
  readonly #hold: Hold | undefined;

  constructor(deps: DriveFilesDeps, state: NodeState, hold: Hold | undefined) {
    this.#deps = deps;
    this.#hold = hold;
    ({ sizeBytes: this.sizeBytes, mtimeNs: this.mtimeNs, mode: this.mode } = state);
  }

  get #now(): CachedContent | undefined {
    return this.#hold && (this.#deps.cache.byId(this.#hold.content.id) ?? this.#hold.content);
  }

  get recipe(): Recipe | undefined {
    return this.#now?.recipe;
  }

  get oid(): Uint8Array | undefined {
    return this.#now?.oid;
  }

  get path(): string {
    return this.#now?.path ?? "";
  }

  present(): readonly ByteRange[] {
    const now = this.#now;
    return now === undefined ? [] : this.#deps.cache.present(now);
  }

  async bring(range: ByteRange, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = this.#now;
    if (now === undefined || range.length === 0) return;
    await untilAborted(this.#bring(now, range), signal);
  }

  async #bring(content: CachedContent, range: ByteRange): Promise<void> {
    const { transfer, figures } = this.#deps;
    await transfer.downloads.ensure(content, range, "requestTimeout");
    figures.pastKernel.readBytes += range.length;
  }

  async source(): Promise<FileSource> {
    const { sizeBytes, mtimeNs, mode } = this;
    const now = this.#now;
    if (now === undefined) return { sizeBytes, mtimeNs, mode, file: undefined, [Symbol.asyncDispose]: async () => {} };
    const { cache, settings } = this.#deps;
    const bring = (range: ByteRange): Promise<void> => this.#bring(this.#now ?? now, range);
    // Without a recipe its chunks are known once it is here.
    if (now.recipe === undefined) await bring({ offset: 0, length: sizeBytes });
    const { recipe, version } = this.#now ?? now;
    const file = await cache.openFile(this.#now ?? now);
    const known = recipe && version.node !== 0 ? { version, recipe, content: this.#now ?? now } : undefined;
    return {
      sizeBytes,
      mtimeNs,
      mode,
      file,
      recipe,
      version: known && { url: settings.url, known },
      bring,
      [Symbol.asyncDispose]: () => file.close(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hold?.[Symbol.dispose]();
  }
}

function factsOf({ type, sizeBytes, mtimeNs, mode }: Entry["state"]): FileFacts {
  return { type, sizeBytes, mtimeNs, mode };
}

function mustBeFile({ type }: NodeState, path: string): void {
  if (type === "folder") throw new RunnelError("IsFolder", "open", `${path} is a folder.`);
  if (type !== "file") throw new RunnelError("Unsupported", "open", `${path} is a ${type}, not a file.`);
}

function notFound(operation: string, path: string): RunnelError {
  return new RunnelError("NotFound", operation, `There is no ${path} in the volume.`);
}
