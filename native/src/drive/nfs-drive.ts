// The Drive that needs no driver: an NFS server (version 3) on loopback, which the system's own client mounts, or a
// program with a client library reads. Behind it is drive.node's core, called as the memory drive is. docs/nfs.md says
// what NFS has no word for, and who is let in.
import { randomBytes } from "node:crypto";
import { type Clock, RunnelError } from "@runnel/shared/model";
import type { Drive, DriveNotice, DriveRequest, DriveSettings } from "./drive.ts";
import { KernelFreeDrive } from "./memory-drive.ts";
import type { Answer } from "./nfs/connection.ts";
import { peerUid, type PeerUid } from "./nfs/host/peer-uid.ts";
import { type SystemMount, systemMount } from "./nfs/host/system-mount.ts";
import { Listener } from "./nfs/listener.ts";
import { NodeCalls } from "./nfs/node-calls.ts";
import { RpcServer } from "./nfs/rpc-server.ts";
import { FileHandles } from "./nfs/state/file-handles.ts";
import { Listings } from "./nfs/state/listings.ts";
import { MadeOnce } from "./nfs/state/made-once.ts";
import { OpenFiles } from "./nfs/state/open-files.ts";

export interface NfsSettings {
  clock: Clock;
  /** Epoch of the volume, now: the numbers of files mean nothing in another. */
  epoch(): string;
  /** The user who is served; left out: that of this process. */
  uid?: number;
  log(message: string, error?: unknown): void;
  /** Time without a READ or WRITE after which a file is committed and closed; left out: a second. */
  quietMs?: number;
  /** Left out: those of this system. */
  peerUid?: PeerUid;
  /** null: nothing is mounted, whatever the system could. */
  systemMount?: SystemMount | null;
}

const SECRET_BYTES = 16;
const VERIFIER_BYTES = 8;
/** Times that a client's word for an unmount is checked. */
export const LOOKS_FOR_UNMOUNT = 20;
const LOOK_EVERY_MS = 250;

interface Handlers {
  requests(batch: DriveRequest[]): void;
  notice(notice: DriveNotice): void;
}

class NfsDrive extends KernelFreeDrive implements Drive {
  readonly #settings: DriveSettings;
  readonly #clock: Clock;
  readonly #mount: SystemMount | undefined;
  readonly #secret = randomBytes(SECRET_BYTES).toString("hex");
  readonly #files: OpenFiles;
  readonly #listings: Listings;
  readonly #listener: Listener;
  #port = 0;
  #isMounted = false;
  #isLookedFor = false;
  #closing: Promise<void> | undefined;

  constructor(settings: DriveSettings, nfs: NfsSettings) {
    super({ ...settings, kernelTimeoutMs: 0 }, nfs.clock, () => nfs.clock.bootMs());
    const { clock, log, uid = process.getuid?.() ?? 0 } = nfs;
    this.#settings = settings;
    this.#clock = clock;
    this.#mount = nfs.systemMount === undefined ? systemMount() : (nfs.systemMount ?? undefined);
    const calls = new NodeCalls((op, args) => this.request(op, args));
    this.#files = new OpenFiles(calls, clock, log, nfs.quietMs);
    this.#listings = new Listings(calls, clock);
    const server = new RpcServer({
      context: {
        calls,
        files: this.#files,
        listings: this.#listings,
        handles: new FileHandles(() => nfs.epoch()),
        madeOnce: new MadeOnce(),
        clock,
        verifier: randomBytes(VERIFIER_BYTES),
      },
      export: {
        secret: this.#secret,
        isOnce: this.#mount !== undefined,
        rootNode: settings.rootNode ?? 1,
        unmounted: () => this.#unmounted(),
      },
      uid,
      log,
    });
    const answer = (record: Buffer): Promise<Answer | undefined> => server.answer(record);
    this.#listener = new Listener({ uid, peerUid: nfs.peerUid ?? peerUid, answer, log });
  }

  get address(): string | undefined {
    if (this.#mount !== undefined || this.#port === 0) return undefined;
    return `nfs://127.0.0.1/${this.#secret}?version=3&nfsport=${this.#port}&mountport=${this.#port}`;
  }

  override async start(on: Handlers): Promise<void> {
    await super.start(on);
    try {
      this.#port = await this.#listener.listen();
      const { mountpoint, isReadOnly } = this.#settings;
      await this.#mount?.mount(this.#port, this.#secret, mountpoint, isReadOnly);
      this.#isMounted = this.#mount !== undefined;
    } catch (error) {
      await this.#listener.close();
      if (error instanceof RunnelError) throw error;
      throw new RunnelError("Unavailable", "mount", "The NFS server could not be started.", { cause: error });
    }
  }

  /** Forced, it ends also while somebody waits for the other way. */
  override async close(force: boolean, reason?: string): Promise<void> {
    if (force) return this.#end(true, reason);
    this.#closing ??= this.#end(false, reason).finally(() => (this.#closing = undefined));
    return this.#closing;
  }

  async #end(force: boolean, reason?: string): Promise<void> {
    // The system writes what it still has to before it has unmounted.
    if (this.#isMounted) await this.#mount?.unmount(this.#settings.mountpoint, force);
    this.#isMounted = false;
    await this.#listener.close();
    // Forced, it does not wait for the server: what is open is committed as it is let go, and kept by the agent.
    if (!force) await this.#files.settle();
    this.#files.stop();
    this.#listings.close();
    await super.close(true, reason);
  }

  /** A client has said that it unmounted the drive. Clients may say so at any time, and it need not be the system. */
  #unmounted(): void {
    if (this.#isLookedFor) return;
    this.#isLookedFor = true;
    this.#lookForUnmount(LOOKS_FOR_UNMOUNT);
  }

  #lookForUnmount(left: number): void {
    const mount = this.#mount;
    if (mount === undefined || !this.#isMounted || left === 0) {
      this.#isLookedFor = false;
      return;
    }
    this.#clock.after(LOOK_EVERY_MS, () => {
      void mount.isMounted(this.#settings.mountpoint).then((isThere) => {
        if (isThere) return this.#lookForUnmount(left - 1);
        this.#isMounted = false;
        return this.close(false, "The drive was unmounted.");
      });
    });
  }
}

/**
 * A drive that is served over NFS on loopback; macOS mounts it at the mount point, elsewhere it has an address.
 * @throws RunnelError Unsupported when drive.node is missing or does not load.
 */
export function nfsDrive(settings: DriveSettings, nfs: NfsSettings): Drive {
  return new NfsDrive(settings, nfs);
}
