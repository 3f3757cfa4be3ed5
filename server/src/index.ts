// The server as a library: what `runnel serve` starts.
import { realDisk, threadExecutor } from "@runnel/native";
import type { Clock, Disk } from "@runnel/shared";
import { type TlsIdentity, LocalSecrets, RealClock, WsAcceptor, isRunnelError } from "@runnel/shared";
import { type AdminDeps, serveAdmin } from "./admin/admin-server.ts";
import { adoptFolder } from "./adopt-folder.ts";
import type { Console } from "./console/console.ts";
import { SERVER } from "./audit/audit-entry.ts";
import type { RecordedSettings } from "./audit/recorded-settings.ts";
import { type Security, openSecurity } from "./auth/security.ts";
import { becomeUser, userNamed } from "./host/other-user.ts";
import { openSqliteMetaStore, removeSqliteMetaStore } from "./meta/sqlite/meta-store.ts";
import { type VolumeHost, probeFolder, openVolume } from "./open-volume.ts";
import { checkAdopted, checkFolders } from "./served-folders.ts";
import { type OpenedConsole, openConsole } from "./console/open-console.ts";
import { type Engines, openEngines } from "./engines.ts";
import type { ListedVolume } from "./offer/volume-list.ts";
import { mustBeReal, volumesToServe } from "./offer/volumes-to-serve.ts";
import type { Offer } from "./served-volume.ts";
import type { ServedVolumes } from "./served-volumes.ts";
import { OldFolders } from "./upload/old-folders.ts";
import { type ServedServer, serve } from "./server.ts";
import { NamedNetworks } from "./colleagues/named-networks.ts";
import type { RunningServer, ServerSettings, VolumeSettings } from "./server-api.ts";

export type { AdminRequest, AdminResult } from "./admin/messages.ts";
export type { NetworkSettings } from "./colleagues/named-networks.ts";
export type { OfferedVolume, RunningServer, ServerSettings, TlsSettings, VolumeSettings } from "./server-api.ts";

/**
 * Listens and opens the volumes; one whose folder is not there waits for it. @throws RunnelError with a sentence for a
 * person: what cannot be a folder, two volumes in one another, a port in use, an address beyond loopback.
 */
export async function startServer(settings: ServerSettings): Promise<RunningServer> {
  const clock = new RealClock();
  const executor = threadExecutor();
  const warn = settings.warn ?? ((message, error) => console.error(message, error ?? ""));
  const { host, port } = settings;
  const disk = realDisk();
  const { offered, listed } = await volumesToServe(disk, settings);
  const all = [...settings.volumes, ...listed];
  checkAdopted(settings.adopt ?? [], all);
  const { supplies = [] } = settings;
  const oldFolders =
    supplies.length === 0 ? undefined : await OldFolders.open(supplies, { disk, executor, clock, warn });
  const networks = new NamedNetworks(settings.networks);
  const volumeHost = { ...settings, networks, clock, executor, disk, openMeta: openMeta(disk), oldFolders, warn };
  const toAdopt = new Set(settings.adopt);
  const adopted = new Set<string>();
  let served: ServedVolumes | undefined;
  const offerOf = (each: VolumeSettings | ListedVolume): Offer => ({
    ...each,
    probe: async () => {
      if (!settings.volumes.includes(each)) await mustBeReal(each);
      // A folder that comes later may lie elsewhere by then.
      await checkFolders(served?.list ?? all, settings.dataFolder);
      if (toAdopt.delete(each.name)) {
        const { isAdopted, sentence } = await adoptFolder(each, volumeHost);
        warn(sentence);
        if (isAdopted) {
          adopted.add(each.name);
          const adoption = { act: "volumeAdopt", object: each.name, detail: each.folder } as const;
          await security?.audit.record({ who: SERVER, ...adoption, result: "done" });
        }
      }
      await probeFolder(each, volumeHost);
    },
    open: (gone: (reason: string) => void) =>
      openVolume({ ...each, hadClients: adopted.has(each.name) }, volumeHost, gone),
  });
  const user = settings.user === undefined ? undefined : await userNamed(settings.user);
  const listening = user === undefined ? {} : { listening: () => becomeUser(user, settings.dataFolder, disk) };
  const crowd = settings.connections === undefined ? {} : { connections: settings.connections };
  const deps = {
    clock,
    executor,
    host,
    port,
    software: "Runnel server",
    hasSupply: oldFolders !== undefined,
    warn,
    ...listening,
  };
  const { tls } = settings;
  const secrets = LocalSecrets.ofUserOr(settings.secretPath);
  const security = await securityOf(disk, clock, { ...settings, warn });
  let pages: Console["pages"] | undefined;
  const identity = (): TlsIdentity | undefined => security?.identity;
  const acceptor = new WsAcceptor({ identity, pages: () => pages, ...(tls === undefined ? { secrets } : {}) }, crowd);
  // The list is with the devices.
  const volumes = (security === undefined ? settings.volumes : all).map(offerOf);
  const start = async (): Promise<ServedServer> => {
    const server = await serve({ ...deps, volumes, acceptor, isSecure: tls !== undefined, security });
    served = server.served;
    const close = async (): Promise<void> => {
      await server.close();
      await oldFolders?.[Symbol.asyncDispose]();
    };
    return { ...server, close };
  };
  try {
    if (security === undefined) return await start();
    const act = { who: SERVER, act: "serverStart", object: `${host}:${port}` } as const;
    const detail = security.audit.isWholeBefore === false ? "The server before this one did not end properly." : "";
    const server = await security.audit.perform(act, start, ({ url }) => ({ object: url, detail }));
    const engines = await openEngines({ ...settings, clock, disk, server, security, offered, listed, offerOf });
    const opened = openConsole({ server, security, engines, clock, settings, warn });
    pages = opened.console.pages;
    return await withAdmin(server, security, settings, { ...opened, engines });
  } catch (error) {
    await oldFolders?.[Symbol.asyncDispose]();
    await security?.release();
    throw error;
  }
}

/** Two servers of one user may share a data folder: the first has the devices. @throws as openSecurity() */
async function securityOf(
  disk: Disk,
  clock: Clock,
  { tls, hostname, dataFolder, warn }: ServerSettings & Pick<Required<ServerSettings>, "warn">,
): Promise<Security | undefined> {
  try {
    return await openSecurity(disk, clock, dataFolder, { ...tls, hostname, isLate: tls === undefined, warn });
  } catch (error) {
    if (tls === undefined && isRunnelError(error, "Busy")) return undefined;
    throw error;
  }
}

async function withAdmin(
  server: RunningServer,
  security: Security,
  settings: ServerSettings,
  { console, urls, engines }: OpenedConsole & { engines: Engines },
): Promise<RunningServer> {
  let endAdmin: () => Promise<void>;
  try {
    await security.recordChanges(recordedSettings(settings));
    const open: AdminDeps["openConsole"] = (who, way) => console.openLocal(who, way);
    endAdmin = await serveAdmin({ server, security, hostname: settings.hostname, openConsole: open });
  } catch (error) {
    await console.close();
    await server.close();
    await engines.close();
    throw error;
  }
  const close = async (): Promise<void> => {
    await endAdmin();
    await console.close();
    await server.close();
    await engines.close();
    await security.audit.record({ who: SERVER, act: "serverStop", object: server.url, result: "done" });
    await security.release();
  };
  return { ...server, console: urls, close };
}

/** Settings that a person may want to know who changed, and when. */
function recordedSettings(settings: ServerSettings): RecordedSettings {
  const { volumes, offer = [], host, port, tls, termMs, keepsOwners = false, user, connections } = settings;
  const networks = settings.networks?.map(({ name, ranges }) => `${name}=${ranges.join(",")}`).join(" ");
  const certificate = tls?.given?.certificatePath ?? (tls === undefined ? "none" : "the server's own");
  const offered = offer.length === 0 ? undefined : offer.join(", ");
  const values = {
    listen: `${host}:${port}`,
    offer: offered,
    certificate,
    termMs,
    keepsOwners,
    user,
    connections,
    networks,
  };
  const said = Object.entries(values).filter(([, value]) => value !== undefined);
  return {
    volumes: Object.fromEntries(volumes.map(({ name, folder }) => [name, folder])),
    settings: Object.fromEntries(said.map(([name, value]) => [name, String(value)])),
  };
}

/** A fresh meta store takes the place of a damaged one. */
function openMeta(disk: Disk): VolumeHost["openMeta"] {
  return async (folder, create) => {
    await (await disk.openRoot(folder, { permissions: META_FOLDER_MODE })).close();
    if (create !== undefined) await removeSqliteMetaStore(folder);
    return openSqliteMetaStore(folder, create === undefined ? {} : { create });
  };
}

const META_FOLDER_MODE = 0o700;
