// A Mount without a drive, and the engines of an agent that is made of such. What it does is said by the volume's name.
import { MemoryEntry } from "../../src/agent/start/host/memory/entry.ts";
import { LoginStart } from "../../src/agent/start/login-start.ts";
import { realDisk } from "@runnel/native";
import { type Predicate, RunnelError } from "@runnel/shared";
import type { ExportedFile, Mount, MountSettings, UnsentFiles, Unsent } from "../../src/agent/mount.ts";
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
} from "../../src/agent/mount-status.ts";
import type { FolderRange } from "../../src/agent/view/folder-list.ts";
import { type FolderCounts, noCounts } from "../../src/agent/view/meter.ts";
import type { LiveTransfer } from "../../src/agent/view/transfers.ts";
import { MemoryFiles } from "../objects/memory-files.ts";
import type { AgentEngines } from "../../src/agent/run-agent.ts";

const NO_BYTES = { data: 0, recipes: 0, metadata: 0, overhead: 0 };

export class FakeMount implements Mount {
  readonly settings: MountSettings;
  readonly ended: Promise<string>;
  #end: (reason: string) => void = () => undefined;
  #writtenBytes = 1000;
  readonly unsentFiles: FakeUnsent;
  readonly sources = { add: () => ({ [Symbol.dispose]: () => undefined }) };
  readonly files: MemoryFiles;
  moving: LiveTransfer[] = [];
  readonly carrying = {
    epoch: "00".repeat(16),
    carryOut: async (): Promise<void> => undefined,
    takeIn: async (): Promise<void> => undefined,
    async *chunkKeys(): AsyncIterable<readonly bigint[]> {},
  };
  #looks = 0;
  #pins: PinStatus[] = [];

  constructor(settings: MountSettings) {
    this.settings = settings;
    this.files = new MemoryFiles(settings.url);
    this.unsentFiles = new FakeUnsent(this.#volume === "full" ? ["a.txt", "folder/b.txt"].map(refused) : []);
    this.ended = new Promise((done) => {
      this.#end = done;
    });
  }

  get #volume(): string {
    return this.settings.url.slice(this.settings.url.lastIndexOf("/") + 1);
  }

  async status(): Promise<MountStatus> {
    const { url, mountpoint } = this.settings;
    return {
      url,
      volume: this.#volume,
      mountpoint,
      state: "connected",
      hasLease: true,
      isReadOnly: false,
      refusal: null,
      pause: this.settings.pause === undefined ? null : { ...this.settings.pause, until: "until 8:00", reminders: 0 },
      pausedFolders: (this.settings.pausedFolders ?? []).map((each) => ({
        ...each,
        until: "until 8:00",
        reminders: 0,
      })),
      sentence: "Connected. Everything is on the server.",
      epoch: "00".repeat(16),
      seq: 7,
      mode: this.settings.isAsync ? "async" : "sync",
      unsentNames: 0,
      unsentFiles: 0,
      unsentBytes: 0,
      awaitedFiles: 0,
      waiting: [],
      conflicts: [],
      problems: [],
      pins: this.#pins,
      pinsLackBytes: 0,
      cacheBytes: 0,
      cacheLimitBytes: this.settings.cacheBytes,
      address: null,
      isKept: this.settings.isKept === true,
      pid: process.pid,
      server: null,
    };
  }

  statistics(): MountStatistics {
    return {
      applications: { readBytes: 0, writtenBytes: this.#writtenBytes },
      sent: { ...NO_BYTES, data: 100 },
      received: NO_BYTES,
      roundTrips: 1,
      reusedChunks: { base: 1, cache: 2, server: 3 },
      reusedBytes: 900,
      offlineAnswers: 0,
      savedPercent: 90,
    };
  }

  transfers(): LiveTransfer[] {
    if (this.#volume === "moving") this.moving = manyTransfers((this.#looks += 1));
    return this.moving;
  }

  takeCounts(): FolderCounts[] {
    if (this.#volume !== "moving") return [];
    const counts = { ...noCounts(), written: 1000, sent: 90, received: 10, oldVersion: 500 };
    return [{ folder: "Photos", counts }];
  }

  resetStatistics(): void {
    this.#writtenBytes = 0;
  }

  async flush(): Promise<UnsentFile[]> {
    if (this.#volume === "offline") throw new RunnelError("Unreachable", "flush", "The server cannot be reached.");
    return this.unsentFiles.list();
  }

  async *find(predicate: Predicate): AsyncIterable<FoundEntry> {
    yield* find(predicate);
  }

  async remove(path: string): Promise<void> {
    if (path === "") throw new RunnelError("Invalid", "remove", "This is the whole drive.");
  }

  async pin(path: string): Promise<PinStatus> {
    if (this.#volume === "full") throw new RunnelError("Quota", "pin", "It needs 5 GiB more than the cache may take.");
    const pin = {
      path,
      isThere: true,
      all: { files: 2, bytes: 3000 },
      here: { files: 1, bytes: 1000 },
      isComplete: false,
    };
    this.#pins.push(pin);
    return pin;
  }

  async pauseFolder(path: string, pause: Pause): Promise<void> {
    this.settings.pausedFolders = [{ path, node: 2, epoch: "", ...pause }];
  }

  resumeFolder(path: string): boolean {
    const isPaused = this.settings.pausedFolders?.some((each) => each.path === path) === true;
    delete this.settings.pausedFolders;
    return isPaused;
  }

  async unpin(path: string): Promise<void> {
    if (!this.#pins.some((pin) => pin.path === path)) throw new RunnelError("NotFound", "unpin", "It is not pinned.");
    this.#pins = this.#pins.filter((pin) => pin.path !== path);
  }

  async folder(path: string, { from, count }: FolderRange): Promise<FolderPage> {
    if (path !== "") throw new RunnelError("NotFound", "list", `There is no ${path} in the drive.`);
    const row = { type: "file", sizeBytes: 1, mtimeMs: 0, hereBytes: 0, pin: null, pause: null };
    const rows = Array.from({ length: Math.min(count, 1000 - from) }, (_, at) => ({
      ...row,
      index: from + at,
      name: `${from + at}`,
    }));
    return { total: 1000, revision: 1, pin: null, rows };
  }

  async settle(path: string): Promise<number> {
    return path === "both.txt" ? 1 : 0;
  }

  async openers(path: string): Promise<Openers> {
    if (this.#volume === "offline") throw new RunnelError("Unreachable", "openers", "The server cannot be reached.");
    const opener = { isConnected: true, sinceMs: null, hasRead: false };
    const openers = ["here", "desk\u0007"].map((name) => ({ ...opener, name, isOwn: name === "here" }));
    return { isFolder: path === "", total: 3, openers };
  }

  async evict(): Promise<Evicted> {
    return { files: 3, bytes: 4096, filesInUse: 1, filesPinned: 2 };
  }

  colleaguesChanged(): void {}

  async pauseChanged(): Promise<void> {}

  async unmount(force: boolean): Promise<Unsent> {
    if (this.#volume === "busy" && !force) throw new RunnelError("Busy", "unmount", "Programs use the drive.");
    this.#end("unmounted");
    return { unsentFiles: 0, unsentNames: 0 };
  }
}

/** The first can be copied. */
class FakeUnsent implements UnsentFiles {
  #files: UnsentFile[];

  constructor(files: UnsentFile[]) {
    this.#files = files;
  }

  list(): UnsentFile[] {
    return this.#files;
  }

  async exportTo(_folder: string, ids: readonly string[]): Promise<ExportedFile[]> {
    const paths = new Map(this.#files.map(({ id, path }) => [id, path]));
    return ids.map((id, index) =>
      index === 0
        ? { id, path: paths.get(id) ?? null, isWhole: true, reason: null }
        : { id, path: null, isWhole: false, reason: "There is no room." },
    );
  }

  async discard(ids: readonly string[]): Promise<void> {
    this.#files = this.#files.filter(({ id }) => !ids.includes(id));
  }
}

/** Long names, all of which have moved on since the last look. */
function manyTransfers(doneBytes: number): LiveTransfer[] {
  const rest = { files: 1, totalBytes: 1e9, reusedBytes: 0, bytesPerSecond: 1, leftMs: null, waitsFor: [] };
  return Array.from({ length: 300 }, (_, id) => ({
    id,
    direction: "up",
    path: `folder/${"name\n\u0007".repeat(100)}${id}`,
    doneBytes,
    ...rest,
  }));
}

function refused(path: string, index: number): UnsentFile {
  const reason = "The server's disk is full.";
  return { id: `${index}`, path, sizeBytes: 1000, sinceMs: 1_790_000_000_000, reason, isStuck: true };
}

function* find(predicate: Predicate): Iterable<FoundEntry> {
  yield { path: JSON.stringify(predicate), type: "file", sizeBytes: 0, mtimeMs: 0 };
  for (let index = 0; index < 2500; index += 1)
    yield { path: `file-${index}`, type: "file", sizeBytes: index, mtimeMs: 0 };
}

export const fakeEngines: AgentEngines = {
  disk: async () => realDisk(),
  parsePredicate(words) {
    if (words.includes("-bad")) throw new RunnelError("Invalid", "find", "There is no test -bad.");
    return [...words] as unknown as Predicate;
  },
  async openMount(settings) {
    if (settings.url.endsWith("/nowhere"))
      throw new RunnelError("Unreachable", "mount", "The server cannot be reached.");
    if (settings.url.endsWith("/refused")) throw new RunnelError("Denied", "mount", "The server refuses.");
    return new FakeMount(settings);
  },
  async supplies() {
    return {
      list: () => [],
      add: async (path) => ({ path, state: "ready", files: 0, bytes: 0, seenFiles: 0, passedOver: 0, problem: null }),
      remove: async (path) => {
        throw new RunnelError("NotFound", "supply", `${path} is no supply.`);
      },
    };
  },
  async closeSupplies() {},
  async carrier() {
    const failures = { failed: 0, failures: [] };
    return {
      carryOut: async ({ drives }) => ({
        files: drives.length,
        unsentFiles: 0,
        bytes: 0,
        writtenBytes: 0,
        ...failures,
      }),
      carryIn: async ({ device }) => ({
        files: 0,
        bytes: 0,
        alreadyHere: 0,
        superseded: 0,
        sparedBytes: 0,
        device,
        ...failures,
      }),
    };
  },
  async login({ invite, name = "here" }) {
    if (!invite.endsWith("-good")) throw new RunnelError("Denied", "login", "This invite was used already.");
    return { url: "wss://127.0.0.1:7473/docs", device: name, isReadOnly: true };
  },
  async logout(place) {
    if (place !== "127.0.0.1:7473") throw new RunnelError("NotFound", "logout", "Not logged in there.");
    return { server: place, device: "here", isTokenGone: true };
  },
  async checkLogins() {
    return [];
  },
  async loginStart() {
    return new LoginStart([new MemoryEntry()], ["runnel", "reconnect"]);
  },
  async servers() {
    return [{ server: "127.0.0.1:7473", device: "here", volumes: [{ name: "docs", isReadOnly: true }] }];
  },
  async *findByUrl(_url, predicate) {
    yield* find(predicate);
  },
};
