// Volumes that the agent itself works in: those of its drives, and those of servers that know this device, which it
// opens as a mounted volume without a kernel for as long as somebody needs them, and a little longer.
import { type Clock, RunnelError, type Timer } from "@runnel/shared";
import { addressOf, placeOf } from "@runnel/shared/base";
import type { Mount } from "../mount.ts";
import type { KnownPlace } from "../servers/login-schemas.ts";
import type { VolumeFiles } from "./volume-files.ts";

/** Programs ask again soon, and opening takes several round trips. */
const LINGER_MS = 20_000;
/** Opened at once; each takes a connection, a cache and a journal. */
const OPEN_MAX = 16;

export interface OpenVolumesDeps {
  clock: Clock;
  mounts(): readonly Mount[];
  /** Lists the servers that know this device. */
  servers(): Promise<readonly Pick<KnownPlace, "server">[]>;
  /** Opens a volume that no kernel shows. */
  open(url: string): Promise<Mount>;
  /** Called when none is open any more. */
  idle(): void;
}

/** A volume in use, until it is disposed of. */
export interface UsedVolume extends Disposable {
  readonly files: VolumeFiles;
  /** Resolves when the server has all that programs changed here so far. @throws Unreachable, Busy. */
  flush(): Promise<void>;
}

interface Opened {
  mount: Promise<Mount>;
  users: number;
  timer: Timer | undefined;
}

export class OpenVolumes {
  readonly #deps: OpenVolumesDeps;
  readonly #opened = new Map<string, Opened>();

  constructor(deps: OpenVolumesDeps) {
    this.#deps = deps;
  }

  /** The volumes of drives, each once. */
  mounted(): UsedVolume[] {
    const byUrl = new Map(this.#deps.mounts().map((mount) => [mount.settings.url, mount]));
    return [...byUrl.values()].map((mount) => usedOf(mount, () => undefined));
  }

  /** Says whether something opened here is in use or lingers. */
  get isIdle(): boolean {
    return this.#opened.size === 0;
  }

  /**
   * Has the volume of an address: that of a drive, or it is opened. @throws Denied where no server of that address
   * knows this device; Busy, and what opening throws.
   */
  async use(url: string): Promise<UsedVolume> {
    const drive = this.#deps.mounts().find(({ settings }) => settings.url === url);
    if (drive !== undefined) return usedOf(drive, () => undefined);
    await this.#mustKnow(url);
    const opened = this.#opened.get(url) ?? this.#open(url);
    opened.users++;
    opened.timer?.cancel();
    try {
      return usedOf(await opened.mount, () => this.#release(url, opened));
    } catch (error) {
      opened.users--;
      if (this.#opened.get(url) === opened) this.#opened.delete(url);
      throw error;
    }
  }

  /** Closes those that are open, also while somebody uses them. */
  async close(): Promise<void> {
    const all = [...this.#opened.keys()];
    await Promise.all(all.map((url) => this.#end(url)));
  }

  async #mustKnow(url: string): Promise<void> {
    const address = addressOf(url);
    // Without TLS it is a server of this computer, which proves to be this user's (W165).
    if (!address.isSecure) return;
    const place = placeOf(address);
    if ((await this.#deps.servers()).some(({ server }) => server === place)) return;
    throw new RunnelError(
      "Denied",
      "open a volume",
      `This device is not logged in at ${place}. Run: runnel login INVITE`,
    );
  }

  #open(url: string): Opened {
    if (this.#opened.size >= OPEN_MAX)
      throw new RunnelError("Busy", "open a volume", `${OPEN_MAX} volumes are open already. Try again in a moment.`);
    const mount = this.#deps.open(url);
    const opened: Opened = { mount, users: 0, timer: undefined };
    this.#opened.set(url, opened);
    mount
      .then(({ ended }) => ended)
      .catch(() => undefined)
      .finally(() => {
        if (this.#opened.get(url) === opened) this.#opened.delete(url);
        if (this.isIdle) this.#deps.idle();
      });
    return opened;
  }

  #release(url: string, opened: Opened): void {
    opened.users--;
    if (opened.users > 0) return;
    opened.timer = this.#deps.clock.after(LINGER_MS, () => {
      if (opened.users === 0) void this.#end(url);
    });
  }

  async #end(url: string): Promise<void> {
    const opened = this.#opened.get(url);
    this.#opened.delete(url);
    opened?.timer?.cancel();
    const mount = await opened?.mount.catch(() => undefined);
    await mount?.unmount(true).catch(() => undefined);
  }
}

function usedOf(mount: Mount, release: () => void): UsedVolume {
  const flush = async (): Promise<void> => {
    const [first] = await mount.flush(false);
    if (first === undefined) return;
    throw new RunnelError("Busy", "flush", `${first.path} could not be sent yet: ${first.reason}`);
  };
  return { files: mount.files, flush, [Symbol.dispose]: release };
}
