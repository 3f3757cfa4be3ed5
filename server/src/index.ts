// The server as a library: what `runnel serve` starts.
import { isAbsolute, join, relative } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import type { Disk } from "@runnel/shared";
import { RealClock, RunnelError, TIMING, WsAcceptor } from "@runnel/shared";
import type { ContentStatus } from "./content/content-store.ts";
import { openFolderStore } from "./content/folder/folder-store.ts";
import type { Creation } from "./meta/first-rows.ts";
import type { MetaStore } from "./meta/meta-store.ts";
import { openSqliteMetaStore, removeSqliteMetaStore } from "./meta/sqlite-meta-store.ts";
import { serve } from "./server.ts";
import { volumeId } from "./volume/volume-id.ts";
import { Volume } from "./volume/volume.ts";

export interface VolumeSettings {
  name: string;
  /** An existing folder; served as it is. */
  folder: string;
}

export interface ServerSettings {
  volumes: VolumeSettings[];
  host: string;
  /** 0: any free one. */
  port: number;
  /** Commit logs, meta stores, chunk indexes. Made if missing. */
  dataFolder: string;
  /** Lease term, milliseconds. */
  termMs?: number;
  /** Told what a person running the server should know; the console by default. */
  warn?: (message: string, error?: unknown) => void;
}

export interface RunningServer {
  /** ws://host:port */
  readonly url: string;
  readonly volumes: { name: string; folder: string; epoch: string }[];
  status(): { volumes: { name: string; seq: number; content: ContentStatus; attachments: number }[] };
  close(): Promise<void>;
}

/**
 * Opens the volumes and listens. @throws RunnelError with a sentence for a person: a folder that is missing or not readable, two volumes in one
 * another, a port in use, an address beyond loopback.
 */
export async function startServer(settings: ServerSettings): Promise<RunningServer> {
  const clock = new RealClock();
  const executor = threadExecutor();
  const disk = realDisk();
  const warn = settings.warn ?? ((message, error) => console.error(message, error ?? ""));
  checkVolumes(settings.volumes);
  const data = await disk.openRoot(settings.dataFolder, { permissions: DATA_FOLDER_MODE });
  await data.close();
  const opened: { volume: Volume; folder: string }[] = [];
  try {
    for (const { name, folder } of settings.volumes) {
      const volumeData = join(settings.dataFolder, name);
      const volumeRoot = await disk.openRoot(volumeData, { permissions: DATA_FOLDER_MODE });
      const volume = await Volume.open({
        name,
        clock,
        executor,
        disk,
        folder,
        data: volumeRoot,
        termMs: settings.termMs ?? TIMING.leaseTermMs,
        openMeta: (create) => openMeta(disk, join(volumeData, "meta"), create),
        openContent: async (root, meta, host) => {
          const id = await volumeId(volumeRoot);
          return openFolderStore({
            root,
            meta,
            clock,
            host,
            executor,
            settings: { volume: id.id, wasServed: id.isKnown },
          });
        },
        warn,
      });
      opened.push({ volume, folder });
      // Nobody shall take a folder that was never read for an empty one.
      if (volume.isNew) await volume.looked;
    }
    const { host, port } = settings;
    return await serve({
      acceptor: new WsAcceptor(),
      clock,
      executor,
      host,
      port,
      software: "Runnel server",
      volumes: opened,
      warn,
    });
  } catch (error) {
    for (const { volume } of opened) await volume.close();
    throw error;
  }
}

/** A fresh meta store takes the place of a damaged one. */
async function openMeta(disk: Disk, folder: string, create: Creation | undefined): Promise<MetaStore> {
  await (await disk.openRoot(folder, { permissions: DATA_FOLDER_MODE })).close();
  if (create !== undefined) await removeSqliteMetaStore(folder);
  return openSqliteMetaStore(folder, create === undefined ? {} : { create });
}

const DATA_FOLDER_MODE = 0o700;

/** Names are unique and fit in a URL and a folder; no folder is served twice or lies inside another. */
function checkVolumes(volumes: readonly VolumeSettings[]): void {
  for (const [index, { name, folder }] of volumes.entries()) {
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u.test(name)) {
      throw new RunnelError(
        "Invalid",
        "serve",
        `"${name}" cannot name a volume: use letters, digits, dots, dashes and spaces.`,
      );
    }
    for (const other of volumes.slice(0, index)) {
      if (other.name === name)
        throw new RunnelError("Invalid", "serve", `Two volumes are called ${name}: give each its own name.`);
      const [upper, lower] = other.folder.length <= folder.length ? [other.folder, folder] : [folder, other.folder];
      const between = relative(upper, lower);
      if (between === "" || (!between.startsWith("..") && !isAbsolute(between))) {
        throw new RunnelError(
          "Invalid",
          "serve",
          `${lower} lies inside ${upper}: a folder can be served once, not within another.`,
        );
      }
    }
  }
}
