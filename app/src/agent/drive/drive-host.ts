// Answers the drive's requests: each kind with its handler, each exactly once, errors as errno. Decides whether an answer may come from here or
// must first be proved current (lease), and what offline means for it ([W14], [W131]).
import type { Drive, DriveBinding, DriveRequest } from "@runnel/native/drive";
import type { Change, Clock, Timer } from "@runnel/shared";
import { ERRNO_OF_KIND, LIMITS, RunnelError, fromSystemError, isRunnelError } from "@runnel/shared";
import type { Replica } from "../replica/replica.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import { isProgramsOwn } from "../mount-log.ts";
import type { Commits } from "./commits.ts";
import type { Contents } from "./contents.ts";
import type { Names, RequestOfOp } from "./names.ts";
import type { Space } from "./space.ts";
import type { Tree } from "./tree.ts";
import type { UnsentContents } from "./unsent-contents.ts";
import type { Xattrs } from "./xattrs.ts";

export interface DriveHostParts {
  drive: Drive;
  session: Session;
  replica: Replica;
  tree: Tree;
  names: Names;
  contents: Contents;
  unsentContents: UnsentContents;
  commits: Commits;
  xattrs: Xattrs;
  space: Space;
  operations: Operations;
  clock: Clock;
  /** A question is answered as was last known. */
  answersOffline(): void;
  /** How a read went that had to fetch; `gaveWay`: what was read of the file before gave way to it. */
  read(error: unknown, gaveWay?: boolean): void;
  log(message: string, error: unknown): void;
}

export class DriveHost {
  private readonly parts: DriveHostParts;
  /** What programs wait for now. */
  private readonly outstanding = new Map<number, DriveRequest>();
  private beat: Timer | undefined;
  /** Of own time, for as long as programs wait. */
  private endWatch: (() => void) | undefined;

  constructor(parts: DriveHostParts) {
    this.parts = parts;
  }

  requests(batch: readonly DriveRequest[]): void {
    this.parts.session.used();
    this.endWatch ??= this.parts.session.ownTime.watch();
    this.heartbeat();
    for (const request of batch) {
      this.outstanding.set(request.id, request);
      this.answer(request)
        .catch((error: unknown) => {
          const known = fromSystemError(error, request.op);
          if (!isProgramsOwn(known.kind)) this.parts.log(`${request.op} failed`, known);
          this.parts.drive.fail(request.id, ERRNO_OF_KIND[known.kind]);
        })
        .finally(() => this.outstanding.delete(request.id));
    }
  }

  /** The drive gives nobody up for what is late here. */
  private heartbeat(): void {
    const { clock, drive, session } = this.parts;
    drive.heartbeat(session.ownTime.totalLateMs);
    this.beat ??= clock.after(HEARTBEAT_MS, () => {
      this.beat = undefined;
      if (this.outstanding.size > 0) {
        this.heartbeat();
        return;
      }
      this.endWatch?.();
      this.endWatch = undefined;
    });
  }

  /** More of the folder's listing has come: a request that takes long because of it is not given up. */
  progress(folder: number): void {
    for (const [id, request] of this.outstanding) {
      const folders = [
        "folder" in request ? request.folder : undefined,
        "toFolder" in request ? request.toFolder : undefined,
      ];
      if (folders.some((one) => one !== undefined && this.parts.tree.real(one) === folder))
        this.parts.drive.prolong(id);
    }
  }

  /** Feed items: tables first, acknowledged when this returns; the kernel hears of it on the drive's own thread. */
  apply(changes: readonly Change[]): void {
    const { replica, drive, operations, commits, tree } = this.parts;
    for (const { folder, name, before, after } of replica.apply(changes))
      if (before !== 0 && before !== after) tree.lostName(folder, name, before);
    // Of a name the last: what is own and what is not is put apart.
    const bindings = new Map<string, { binding: DriveBinding; isOwn: boolean }>();
    for (const change of changes) {
      const named = new Set<number>();
      for (const { folder, name, node } of change.bindings) {
        // As the last of these changes leaves it: entries are put after all nodes.
        const state = node === 0 ? undefined : (replica.node(node) ?? change.nodes.find((one) => one.node === node));
        if (state !== undefined) named.add(state.node);
        const key = `${folder}/${name}`;
        const isOwn = operations.isOwnName(folder, name, node) && bindings.get(key)?.isOwn !== false;
        bindings.set(key, { binding: { folder, name, entry: state && this.parts.tree.entry(state) }, isOwn });
      }
      for (const state of change.nodes) {
        if (named.has(state.node)) continue;
        const isOwn =
          commits.isOwnNode(state.node) ||
          change.bindings.some((binding) => operations.isOwnName(binding.folder, binding.name, binding.node));
        drive.putNode(this.parts.tree.entry(state), !isOwn);
      }
    }
    for (const changed of [false, true]) {
      const put = [...bindings.values()].filter(({ isOwn }) => isOwn !== changed).map(({ binding }) => binding);
      if (put.length > 0) drive.putEntries(put, changed);
    }
  }

  private async answer(request: DriveRequest): Promise<void> {
    const { names, contents, unsentContents, commits, drive, operations } = this.parts;
    switch (request.op) {
      case "lookup":
        return this.lookup(request);
      case "getattr":
        await this.isOffline();
        drive.putNode(this.parts.tree.entry(await this.parts.tree.node(request.node), request.node), false);
        drive.done(request.id);
        return;
      case "list":
        return this.list(request);
      case "open": {
        const isOffline = await this.isOffline();
        if (request.wantsWrite) operations.mayChange("open");
        await commits.settled(this.parts.tree.real(request.node));
        if (await unsentContents.open(request)) return;
        return contents.open(request, isOffline);
      }
      case "fetch":
        if (await unsentContents.fetch(request)) return;
        return this.fetch(request);
      case "create":
        return names.create(request);
      case "make":
        return names.make(request);
      case "link":
        return names.link(request);
      case "remove":
        await this.isOffline();
        return names.remove(request);
      case "rename":
        await this.isOffline();
        return names.rename(request);
      case "setattr":
        if (request.sizeBytes === undefined) return names.setAttributes(request);
        return this.truncate(request, request.sizeBytes);
      case "commit":
        return commits.commit(request);
      case "xattrs":
        await this.isOffline();
        return this.parts.xattrs.give(request);
      case "setxattr":
        return this.parts.xattrs.set(request);
      case "statfs":
        drive.statfs(request.id, await this.parts.space.known());
        return;
    }
  }

  private async fetch(request: RequestOfOp<"fetch">): Promise<void> {
    try {
      this.parts.read(undefined, await this.parts.contents.fetch(request));
    } catch (error) {
      this.parts.read(error);
      throw error;
    }
  }

  private async lookup(request: RequestOfOp<"lookup">): Promise<void> {
    const { tree, drive } = this.parts;
    await this.isOffline();
    const state = await tree.lookup(tree.real(request.folder), request.name);
    drive.putEntries(
      [{ folder: request.folder, name: request.name, entry: state && this.parts.tree.entry(state) }],
      false,
    );
    drive.done(request.id);
  }

  private async list(request: RequestOfOp<"list">): Promise<void> {
    const { tree, drive } = this.parts;
    await this.isOffline();
    const entries = await tree.entries(tree.real(request.folder));
    drive.putFolder(
      request.folder,
      entries.map(({ name, state }) => ({ name, entry: this.parts.tree.entry(state) })),
    );
    drive.done(request.id);
  }

  /** truncate(2) by path, with no file of it open here: a commit of its own. */
  private async truncate(request: RequestOfOp<"setattr">, sizeBytes: number): Promise<void> {
    const { tree, commits, names, drive, clock } = this.parts;
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
    drive.putNode(this.parts.tree.entry(await tree.node(request.node), request.node), false);
    drive.done(request.id);
  }

  /** Proves the replica current; true when that is not possible now and answers are the last known. Without a lease a line that has just broken is waited for as for a silence. */
  private async isOffline(): Promise<boolean> {
    const { session } = this.parts;
    if (await this.isProvedCurrent()) return false;
    const waitMs = session.hasLease ? 0 : session.silenceLeftMs;
    if (waitMs > 0) {
      await session.responsive(waitMs).catch(() => undefined);
      if (await this.isProvedCurrent()) return false;
    }
    if (!session.hasLease) this.parts.answersOffline();
    return true;
  }

  private async isProvedCurrent(): Promise<boolean> {
    const { session } = this.parts;
    try {
      await session.current();
      return session.isResponsive;
    } catch (error) {
      if (!isRunnelError(error, "Unreachable")) throw error;
      return false;
    }
  }
}

/** The drive expects one in 250 ms. */
const HEARTBEAT_MS = 50;
