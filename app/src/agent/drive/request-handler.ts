// Answers the drive's requests: each kind with its handler, each exactly once, errors as errno. Decides whether an
// answer may come from here or must first be verified to be current (lease), and what offline means for it ([W14],
// [W131]).
import type { Drive, DriveRequest } from "@runnel/native/drive";
import type { Clock, Timer } from "@runnel/shared";
import { LIMITS, RunnelError, fromSystemError, isRunnelError } from "@runnel/shared";
import type { WriteBack } from "../changes/write-back.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import { isProgramsOwn } from "../mount-log.ts";
import type { Commits } from "./saving/commits.ts";
import type { Contents } from "./contents.ts";
import { type EarlyNames, type EarlyRequest, isEarly } from "./early-names.ts";
import type { Names } from "./names.ts";
import type { RequestOfOp } from "./request-of-op.ts";
import type { VolumeSpace } from "./volume-space.ts";
import type { Tree } from "./tree.ts";
import type { UnsentContents } from "./saving/unsent-contents.ts";
import type { Xattrs } from "./xattrs.ts";

export interface RequestHandlerDeps {
  drive: Drive;
  session: Session;
  tree: Tree;
  names: Names;
  early: EarlyNames;
  contents: Contents;
  unsentContents: UnsentContents;
  commits: Commits;
  xattrs: Xattrs;
  volumeSpace: VolumeSpace;
  operations: Operations;
  writeBack: Pick<WriteBack, "early" | "mayBegin" | "mustGo" | "programAsks">;
  clock: Clock;
  /** Called when a question is answered as was last known. */
  answersOffline(): void;
  /** Reports how a read went that had to fetch; `gaveWay`: what was read of the file before gave way to it. */
  read(error: unknown, gaveWay?: boolean): void;
  log(message: string, error: unknown): void;
}

export class RequestHandler {
  private readonly deps: RequestHandlerDeps;
  /** Requests that programs wait for now. */
  readonly #outstanding = new Map<number, DriveRequest>();
  #beat: Timer | undefined;
  /** Ends the watch of own time, which lasts for as long as programs wait. */
  #endWatch: (() => void) | undefined;

  constructor(deps: RequestHandlerDeps) {
    this.deps = deps;
  }

  requests(batch: readonly DriveRequest[]): void {
    this.deps.session.used();
    this.deps.writeBack.programAsks();
    this.#endWatch ??= this.deps.session.ownTime.watch();
    this.#heartbeat();
    for (const request of batch) {
      if (isEarly(request)) {
        this.takeIn(request).catch((error: unknown) => this.deps.log(`${request.op} was not taken in`, error));
        continue;
      }
      this.#outstanding.set(request.id, request);
      this.#answer(request)
        .catch((error: unknown) => {
          const known = fromSystemError(error, request.op);
          if (!isProgramsOwn(known.kind)) this.deps.log(`${request.op} failed`, known);
          this.deps.drive.fail(request.id, known.kind);
        })
        .finally(() => this.#outstanding.delete(request.id));
    }
  }

  /** Takes in what the drive has answered by itself. Resolves when that is in the journal. */
  takeIn(request: EarlyRequest): Promise<void> {
    const { commits, early } = this.deps;
    return request.op === "commit" ? commits.takeIn(request) : early.takeIn(request);
  }

  /** The drive gives nobody up for what is late here. */
  #heartbeat(): void {
    const { clock, drive, session } = this.deps;
    drive.heartbeat(session.ownTime.totalLateMs);
    if (this.#beat !== undefined) return;
    this.#beat = clock.after(HEARTBEAT_MS, () => {
      this.#beat = undefined;
      if (this.#outstanding.size > 0) {
        this.#heartbeat();
        return;
      }
      this.#endWatch?.();
      this.#endWatch = undefined;
    });
  }

  /** More of the folder's listing has come: a request that takes long because of it is not given up. */
  progress(folder: number): void {
    for (const [id, request] of this.#outstanding) {
      const folders = [
        "folder" in request ? request.folder : undefined,
        "toFolder" in request ? request.toFolder : undefined,
      ];
      if (folders.some((one) => one !== undefined && this.deps.tree.real(one) === folder)) this.deps.drive.prolong(id);
    }
  }

  /** Gives nothing up: what is asked has to wait for somebody else, as the server says. */
  hasToWait(): void {
    for (const id of this.#outstanding.keys()) this.deps.drive.prolong(id);
  }

  async #answer(request: DriveRequest): Promise<void> {
    const { names, contents, unsentContents, commits, drive, operations, writeBack } = this.deps;
    switch (request.op) {
      case "lookup":
        return this.#lookup(request);
      case "getattr":
        await this.#isOffline([this.deps.tree.real(request.node)]);
        drive.putNode(this.deps.tree.entry(await this.deps.tree.node(request.node), request.node), false);
        drive.done(request.id);
        return;
      case "list":
        return this.#list(request);
      case "open": {
        const node = this.deps.tree.real(request.node);
        const isOffline = await this.#isOffline([node]);
        if (request.wantsWrite && !writeBack.mayBegin([node])) {
          writeBack.mustGo("open", [node]);
          operations.mayChange("open");
        }
        await commits.settled(node);
        if (await unsentContents.open(request)) return;
        return contents.open(request, isOffline);
      }
      case "fetch":
        if (await unsentContents.fetch(request)) return;
        return this.#fetch(request);
      case "create":
        return names.create(request);
      case "make":
        return names.make(request);
      case "link":
        return names.link(request);
      case "remove":
        await this.#isOffline(this.#nodesAt([request.folder, request.name]));
        return names.remove(request);
      case "rename":
        await this.#isOffline(this.#nodesAt([request.folder, request.name], [request.toFolder, request.toName]));
        return names.rename(request);
      case "setattr":
        if (request.sizeBytes === undefined) return names.setAttributes(request);
        return this.#truncate(request, request.sizeBytes);
      case "commit":
        return commits.commit(request);
      case "sync":
        return commits.sync(request);
      case "xattrs":
        await this.#isOffline([this.deps.tree.real(request.node)]);
        return this.deps.xattrs.give(request);
      case "setxattr":
        return this.deps.xattrs.set(request);
      case "statfs":
        drive.statfs(request.id, await this.deps.volumeSpace.known());
        return;
    }
  }

  async #fetch(request: RequestOfOp<"fetch">): Promise<void> {
    try {
      this.deps.read(undefined, await this.deps.contents.fetch(request));
    } catch (error) {
      this.deps.read(error);
      throw error;
    }
  }

  async #lookup(request: RequestOfOp<"lookup">): Promise<void> {
    const { tree, drive, writeBack } = this.deps;
    await this.#isOffline(this.#nodesAt([request.folder, request.name]));
    const folder = tree.real(request.folder);
    const state = await tree.lookup(folder, request.name);
    // Whoever looks for what is not there is about to make it, with others; the drive may answer that then.
    const isMaking = state === undefined && writeBack.early.isAllowed;
    const known = isMaking ? tree.knownEntries(folder, LISTED_MAX) : undefined;
    if (known !== undefined)
      drive.putFolder(
        request.folder,
        known.map(({ name, state: each }) => ({ name, entry: tree.entry(each) })),
      );
    else
      drive.putEntries(
        [{ folder: request.folder, name: request.name, entry: state && this.deps.tree.entry(state) }],
        false,
      );
    drive.done(request.id);
  }

  async #list(request: RequestOfOp<"list">): Promise<void> {
    const { tree, drive } = this.deps;
    await this.#isOffline([tree.real(request.folder)]);
    const entries = await tree.entries(tree.real(request.folder));
    drive.putFolder(
      request.folder,
      entries.map(({ name, state }) => ({ name, entry: this.deps.tree.entry(state) })),
    );
    drive.done(request.id);
  }

  /** truncate(2) by path, with no file of it open here: a commit of its own. */
  async #truncate(request: RequestOfOp<"setattr">, sizeBytes: number): Promise<void> {
    const { tree, commits, names, drive, clock } = this.deps;
    const state = await tree.node(request.node);
    if (sizeBytes > LIMITS.fileBytes) throw new RunnelError("TooLarge", "truncate", "No file may be that long.");
    // The size it has sets the times only.
    if (sizeBytes === tree.entry(state).sizeBytes) return names.setAttributes({ mtimeNs: clock.wallNs(), ...request });
    await commits.truncate(state, sizeBytes);
    const { mode, uid, gid, mtimeNs } = request;
    if (mode !== undefined || uid !== undefined || gid !== undefined || mtimeNs !== undefined) {
      await names.setAttributes(request);
      return;
    }
    drive.putNode(this.deps.tree.entry(await tree.node(request.node), request.node), false);
    drive.done(request.id);
  }

  /** Lists folders with what names in them are bound to, as far as is known here. */
  #nodesAt(...names: readonly (readonly [folder: number, name: string])[]): number[] {
    const { tree } = this.deps;
    return names.flatMap(([folder, name]) => {
      const bound = tree.boundTo(folder, name, undefined);
      return [tree.real(folder), ...(bound === undefined ? [] : [bound.node])];
    });
  }

  /**
   * Verifies that what is known of these nodes is current. @returns true when that is not possible now and answers are
   * the last known. Without a lease a line that has just broken is waited for as for a silence.
   */
  async #isOffline(nodes: readonly number[]): Promise<boolean> {
    const { session } = this.deps;
    if (await this.#isCurrent(nodes)) return false;
    const hasLease = (): boolean => session.hasLease && session.elsewhere.touched(nodes).length === 0;
    const waitMs = hasLease() ? 0 : session.silenceLeftMs;
    if (waitMs > 0) {
      await session.responsive(waitMs).catch(() => undefined);
      if (await this.#isCurrent(nodes)) return false;
    }
    if (!hasLease()) this.deps.answersOffline();
    return true;
  }

  async #isCurrent(nodes: readonly number[]): Promise<boolean> {
    const { session } = this.deps;
    try {
      await session.current();
      await session.elsewhere.current(nodes);
      return session.isResponsive;
    } catch (error) {
      if (!isRunnelError(error, "Unreachable")) throw error;
      return false;
    }
  }
}

/** Names of a folder that the drive is given at once. */
const LISTED_MAX = 1_000;
/** The drive expects one in 250 ms. */
const HEARTBEAT_MS = 50;
