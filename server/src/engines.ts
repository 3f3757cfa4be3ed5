// Engines that a console works with, beside people: volumes, what goes on now, and the state of all.
import { dirname } from "node:path";
import type { Clock, Disk } from "@runnel/shared";
import { RunnelError, isWithin } from "@runnel/shared";
import type { Actor } from "./audit/audit-entry.ts";
import type { Security } from "./auth/security.ts";
import { Live } from "./live/live.ts";
import type { BrowseRow, OfferedRow, Page, RowsRequest } from "./live/rows.ts";
import type { OfferedFolders } from "./offer/offered-folders.ts";
import type { ListedVolume } from "./offer/volume-list.ts";
import { VolumeMaker } from "./offer/volume-maker.ts";
import { browseVolume } from "./overview/browse-volume.ts";
import { ServerOverview } from "./overview/server-overview.ts";
import type { Offer } from "./served-volume.ts";
import type { ServedFolder } from "./served-folders.ts";
import type { ServedServer } from "./server.ts";

export interface EnginesDeps {
  clock: Clock;
  disk: Disk;
  server: ServedServer;
  security: Pick<Security, "devices" | "audit" | "folder">;
  dataFolder: string;
  hostname: string;
  offered: OfferedFolders;
  listed: readonly ListedVolume[];
  offerOf(volume: ServedFolder): Offer;
}

export interface Engines {
  live: Live;
  overview: ServerOverview;
  maker: VolumeMaker;
  /** Lists names of a volume. @throws RunnelError NotFound, NotFolder; Unavailable, Busy while it is not open. */
  browse(who: Actor, volume: string, path: string, asked: RowsRequest): Promise<Page<BrowseRow>>;
  /** Lists folders of which volumes can be made. @throws RunnelError as OfferedFolders.list */
  offeredFolders(who: Actor, path: string, asked: RowsRequest): Promise<Page<OfferedRow>>;
  /** Path of the offered folder around one, "" for the top; null at the top. */
  above(path: string): string | null;
  close(): Promise<void>;
}

export async function openEngines(deps: EnginesDeps): Promise<Engines> {
  const { clock, disk, server, security, offered, hostname, dataFolder, listed, offerOf } = deps;
  const { devices, audit, folder } = security;
  const { served } = server;
  const root = await disk.openRoot(folder);
  const live = new Live({ clock, server, devices, audit });
  const maker = new VolumeMaker({ clock, root, dataFolder, offered, served, listed, audit, devices, offerOf });
  const isMade = (name: string): boolean => maker.isListed(name);
  const overview = new ServerOverview({ clock, server, devices, live, root, hostname, isMade });
  const volumeOf = (path: string): string | null =>
    served.list.find((volume) => isWithin(path, volume.folder) || isWithin(volume.folder, path))?.name ?? null;
  return {
    live,
    overview,
    maker,
    browse: (who, name, path, asked) =>
      audit.observe({ who, act: "browse", object: name, detail: path }, async () => {
        const volume = served.get(name)?.mustBeOpen();
        if (volume === undefined) throw new RunnelError("NotFound", "browse", `The server has no volume ${name}.`);
        return browseVolume(volume, path, asked);
      }),
    offeredFolders: async (who, path, { after, limit }) => {
      const page = await audit.observe({ who, act: "offered", object: path }, () => offered.list(path, after, limit));
      return { rows: page.folders.map((each) => ({ ...each, volume: volumeOf(each.path) })), after: page.after };
    },
    above: (path) => (path === "" ? null : offered.roots.includes(path) ? "" : dirname(path)),
    close: () => root.close(),
  };
}
