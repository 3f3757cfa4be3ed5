// A mount as the control API sees it. Engines are for open-mount.ts (or a simulation) to choose; wiring.ts puts the
// services around a volume and a drive together, lifecycle.ts begins and ends them.
import type { Sources } from "../transfer/sources/sources.ts";
import { type Predicate, ROOT_NODE, RunnelError } from "@runnel/shared";
import { DriveFiles } from "../objects/drive-files.ts";
import { RemoveTree } from "../drive/remove-tree.ts";
import { evict } from "../pins/evict.ts";
import type { Mount, MountSettings, Unsent, UnsentFiles } from "../mount.ts";
import type {
  Evicted,
  FolderPage,
  FoundEntry,
  MountStatistics,
  MountStatus,
  Openers,
  Pause,
  PinStatus,
  UnsentFile,
} from "../mount-status.ts";
import { findBelow } from "../wire/listings.ts";
import type { FolderRange } from "../view/folder-list.ts";
import type { FolderCounts } from "../view/meter.ts";
import type { LiveTransfer } from "../view/transfers.ts";
import { Carrying } from "./carrying.ts";
import type { MountDeps } from "./mount-deps.ts";
import { askOpeners } from "./openers.ts";
import { statusOf } from "./status.ts";
import { type MountServices, wire } from "./wiring.ts";

export class MountedVolume implements Mount {
  readonly settings: MountSettings;
  readonly ended: Promise<string>;
  readonly unsentFiles: UnsentFiles;
  readonly sources: Sources;
  readonly carrying: Carrying;
  readonly files: DriveFiles;
  private readonly deps: MountDeps & MountServices;

  private constructor(deps: MountDeps) {
    this.deps = { ...deps, ...wire(deps) };
    this.settings = deps.settings;
    this.ended = this.deps.lifecycle.ended;
    this.unsentFiles = this.deps.unsentFiles;
    this.sources = this.deps.sources;
    this.carrying = new Carrying({
      ...this.deps,
      downloads: this.deps.transfer.downloads,
      nodeAt: (operation, path) => this.nodeAt(operation, path),
      epoch: () => this.deps.lifecycle.epoch,
      listed: () => this.listed(),
      addSource: (source) => this.sources.add(source),
      cacheBytesMax: () => this.settings.cacheBytes,
    });
    this.files = new DriveFiles(this.deps);
  }

  /**
   * Resolves once it is usable: attached, and the root is listed. @throws what a person must know; nothing is left
   * mounted then.
   */
  static async open(deps: MountDeps): Promise<MountedVolume> {
    const mount = new MountedVolume(deps);
    await mount.deps.lifecycle.begin();
    return mount;
  }

  status(asksServer: boolean): Promise<MountStatus> {
    return statusOf({ ...this.deps, epoch: () => this.deps.lifecycle.epoch }, asksServer);
  }

  statistics(): MountStatistics {
    return this.deps.figures.read();
  }

  transfers(): LiveTransfer[] {
    return this.deps.watch.list();
  }

  takeCounts(): FolderCounts[] {
    return this.deps.watch.takeCounts();
  }

  resetStatistics(): void {
    this.deps.figures.reset();
  }

  async flush(whenApplied: boolean): Promise<UnsentFile[]> {
    const unsent = await this.sendAll(whenApplied);
    const { changes, folderPauses } = this.deps;
    const waiting = changes.treeChanges().size + this.deps.unsent.items().filter(({ isHeld }) => isHeld).length;
    const why = folderPauses.whyWhole("");
    if (waiting === 0 || why === undefined) return unsent;
    const wait = waiting === 1 ? "1 change waits" : `${waiting} changes wait`;
    throw new RunnelError("Unreachable", "flush", `${wait}. ${why}`);
  }

  /** Sends all but what is paused. */
  private async sendAll(whenApplied: boolean): Promise<UnsentFile[]> {
    const { drive, commits, unsent, unsentFiles, changes, session, replica, writeBack } = this.deps;
    // Data that programs wrote into files that are still open counts too. A commit that fails is among the unsent.
    const failure = await drive.commitDirty();
    await commits.idle();
    const waiting = writeBack.outbox.isIdle ? 0 : writeBack.outbox.size;
    if (waiting > 0 && session.isResponsive) await writeBack.sent();
    else if (waiting > 0 && unsent.isEmpty)
      throw new RunnelError("Unreachable", "flush", `${waiting} changes could not be sent yet: ${session.why}`);
    const wasEmpty = unsent.isEmpty;
    await unsentFiles.send();
    if (wasEmpty && failure !== undefined)
      throw new RunnelError("Io", "flush", `A file that a program has open could not be saved (${failure}).`);
    await changes.idle();
    if (whenApplied)
      await session.withRequestTimeout(session.call("whenApplied", { seq: replica.facts()?.seq ?? 0 }), "flush");
    return unsentFiles.list();
  }

  find(predicate: Predicate): AsyncIterable<FoundEntry> {
    return findBelow(this.deps.session, predicate);
  }

  async remove(path: string, progress?: (removed: number, all: number) => void): Promise<void> {
    const why = this.deps.folderPauses.whyWhole(path);
    if (why !== undefined) throw new RunnelError("Busy", "remove", why);
    // Data that was written here into files below it is not to come after their removal.
    await this.sendAll(false);
    await new RemoveTree({ ...this.deps, ...(progress && { progress }) }).remove(path);
    await this.deps.unsent.removedBelow(path);
  }

  async pin(path: string): Promise<PinStatus> {
    return this.deps.pins.pin(path, await this.nodeAt("pin", path));
  }

  unpin(path: string): Promise<void> {
    return this.deps.pins.unpin(path);
  }

  settle(path: string): Promise<number> {
    return this.deps.conflicts.settle(path);
  }

  async folder(path: string, range: FolderRange): Promise<FolderPage> {
    const node = await this.nodeAt("list", path);
    if (this.deps.tree.known(node)?.type !== "folder")
      throw new RunnelError("NotFolder", "list", `${path} is no folder.`);
    if (this.deps.replica.facts()?.isWhole !== true) await this.deps.tree.entries(node);
    return this.deps.folderList.page(node, range);
  }

  async openers(path: string): Promise<Openers> {
    const { session, tree } = this.deps;
    session.mustRespond();
    const node = await this.nodeAt("openers", path);
    const folder = await this.nodeAt("openers", path.slice(0, Math.max(0, path.lastIndexOf("/"))));
    const isFolder = tree.known(node)?.type === "folder";
    return { isFolder, ...(await askOpeners(session, node, folder)) };
  }

  async evict(path: string): Promise<Evicted> {
    return evict(this.deps, path, await this.nodeAt("evict", path));
  }

  private async listed(): Promise<void> {
    const { replica, wholeListing } = this.deps;
    if (replica.facts()?.isWhole !== true) await wholeListing.ended();
    if (replica.facts()?.isWhole === true) return;
    throw new RunnelError(
      "Unreachable",
      "list",
      "Not all of the drive's names are known yet. Try again when it is connected.",
    );
  }

  private async nodeAt(operation: string, path: string): Promise<number> {
    if (path === "") return ROOT_NODE;
    const found = await this.deps.tree.find(path);
    if (found === undefined) throw new RunnelError("NotFound", operation, `There is no ${path} in the drive.`);
    return this.deps.tree.real(found.state.node);
  }

  pauseChanged(): Promise<void> {
    return this.deps.drivePause.changed();
  }

  colleaguesChanged(): void {
    this.deps.colleagues.changed();
  }

  async pauseFolder(path: string, pause: Pause): Promise<void> {
    const node = await this.nodeAt("pause", path);
    this.deps.folderPauses.pause(path, { node, epoch: this.deps.lifecycle.epoch }, pause);
  }

  resumeFolder(path: string): boolean {
    return this.deps.folderPauses.resume(path);
  }

  async unmount(force: boolean): Promise<Unsent> {
    const { drive, lifecycle, unsent, changes } = this.deps;
    if (!lifecycle.isEnding) await drive.close(force);
    await lifecycle.finish("unmounted", force);
    return { unsentFiles: unsent.list().length, unsentNames: changes.treeChanges().size };
  }
}
