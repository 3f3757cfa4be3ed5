// The server as a library: what `runnel serve` starts.
import { join } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import type { Clock, Disk, Executor } from "@runnel/shared";
import { RealClock, RunnelError, STORE_FOLDER, WsAcceptor, TIMING } from "@runnel/shared";
import type { ContentStatus } from "./content/content-store.ts";
import { enclosingVolume } from "./content/folder/marker.ts";
import { openFolderStore } from "./content/folder/folder-store.ts";
import { serveAdmin } from "./admin/admin-server.ts";
import { type Guests, type Security, openSecurity } from "./auth/security.ts";
import type { Creation } from "./meta/first-rows.ts";
import type { MetaStore } from "./meta/meta-store.ts";
import { openSqliteMetaStore, removeSqliteMetaStore } from "./meta/sqlite-meta-store.ts";
import { checkFolders, openData, openServed } from "./served-folders.ts";
import type { OpenedVolume } from "./server.ts";
import { serve } from "./server.ts";
import { ServingLock } from "./volume/serving-lock.ts";
import { volumeId } from "./volume/volume-id.ts";
import { Volume } from "./volume/volume.ts";

export { askServer } from "./admin/admin-client.ts";
export type { AdminResult } from "./admin/messages.ts";

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
  /** wss, for devices with an invite; left out: plain ws, for everyone of this machine. */
  security?: SecuritySettings;
  /** Lease term, milliseconds. */
  termMs?: number;
  /** Told what a person running the server should know; the console by default. */
  warn?: (message: string, error?: unknown) => void;
}

export interface SecuritySettings {
  /** PEM files of an administrator's own; left out: the server's own key, made at its first start. */
  given?: { certificatePath: string; keyPath: string };
  /** What this machine is called, for the certificate. */
  hostname: string;
}

export interface RunningServer {
  /** ws://host:port or wss://host:port */
  readonly url: string;
  /** Who was let in, and the key that they know the server by; undefined with plain ws. */
  readonly guests: Guests | undefined;
  /** A connection of this device is open. */
  connected(device: string): boolean;
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
  const warn = settings.warn ?? ((message, error) => console.error(message, error ?? ""));
  await checkFolders(settings.volumes, settings.dataFolder);
  const { host, port } = settings;
  const disk = realDisk();
  const openVolumes = async (opened: OpenedVolume[]): Promise<void> => {
    for (const each of settings.volumes)
      opened.push(await openVolume(each, { ...settings, clock, executor, disk, warn }));
  };
  const parts = { clock, executor, host, port, software: "Runnel server", warn, openVolumes };
  if (settings.security === undefined) return serve({ ...parts, acceptor: new WsAcceptor(), security: undefined });
  const security = await openSecurity(disk, clock, settings.dataFolder, settings.security);
  try {
    const server = await serve({ ...parts, acceptor: new WsAcceptor(security.identity), security });
    return await withAdmin(server, security, settings.security.hostname);
  } catch (error) {
    await security.release();
    throw error;
  }
}

async function withAdmin(server: RunningServer, security: Security, hostname: string): Promise<RunningServer> {
  let endAdmin: () => Promise<void>;
  try {
    endAdmin = await serveAdmin({ server, guests: security.guests, hostname, folder: security.folder });
  } catch (error) {
    await server.close();
    throw error;
  }
  const close = async (): Promise<void> => {
    await endAdmin();
    await server.close();
    await security.release();
  };
  return { ...server, close };
}

interface VolumeHost {
  clock: Clock;
  executor: Executor;
  disk: Disk;
  dataFolder: string;
  termMs?: number;
  warn(message: string, error?: unknown): void;
}

async function openVolume({ name, folder }: VolumeSettings, host: VolumeHost): Promise<OpenedVolume> {
  const { clock, executor, disk, warn } = host;
  const served = await openServed(disk, folder);
  const above = await enclosingVolume(disk, folder);
  if (above !== undefined) {
    await served.close();
    throw new RunnelError(
      "Invalid",
      "serve",
      `${folder} lies inside ${above}, which is served: a folder cannot be served within another.`,
    );
  }
  const dataPath = join(host.dataFolder, name);
  const locks: ServingLock[] = [];
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release();
    await served.close();
  };
  try {
    const data = await openData(disk, dataPath, DATA_FOLDER_MODE);
    await ServingLock.check(disk, served, SERVED_NOTE, folder);
    locks.push(await ServingLock.take(disk, data, DATA_NOTE, `The volume ${name} in ${host.dataFolder}`));
    const volume = await Volume.open({
      name,
      clock,
      executor,
      disk,
      folder,
      data,
      termMs: host.termMs ?? TIMING.leaseTermMs,
      openMeta: (create) => openMeta(disk, join(dataPath, "meta"), create),
      openContent: async (root, meta, contentHost) => {
        const id = await volumeId(data);
        const settings = { volume: id.id, wasServed: id.isKnown, isPrivileged: process.getuid?.() === 0 };
        return openFolderStore({ root, meta, clock, host: contentHost, executor, settings });
      },
      warn,
    });
    // Nobody shall take a folder that was never read for an empty one.
    if (volume.isNew) await volume.looked;
    if (volume.content.status().unavailable === undefined)
      locks.push(await ServingLock.take(disk, served, SERVED_NOTE, folder));
    return { volume, folder, release };
  } catch (error) {
    await release();
    throw error;
  }
}

const SERVED_NOTE = `${STORE_FOLDER}/serving`;
const DATA_NOTE = "serving";

/** A fresh meta store takes the place of a damaged one. */
async function openMeta(disk: Disk, folder: string, create: Creation | undefined): Promise<MetaStore> {
  await (await disk.openRoot(folder, { permissions: DATA_FOLDER_MODE })).close();
  if (create !== undefined) await removeSqliteMetaStore(folder);
  return openSqliteMetaStore(folder, create === undefined ? {} : { create });
}

const DATA_FOLDER_MODE = 0o700;
