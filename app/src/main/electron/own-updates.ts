// Finds whether, and where, this copy of the app looks for newer ones: a packed one of Windows or macOS that carries
// the place of a signed list. Packages of Linux are updated by what has installed them.
import { join } from "node:path";
import { type Clock, wallMs } from "@runnel/shared";
import { app } from "electron";
import { LogFile } from "../../agent/control/host/log-file.ts";
import { VERSION } from "../../agent/version.ts";
import { fetchFeed, placeFileFor, readFeedPlace } from "../../cli/updates/host/feed-source.ts";
import { discardFile, knowsPublisher, lookAtFile } from "../host/update-files.ts";
import type { UpdateSource } from "../updates/updates.ts";
import { FeedUpdater } from "./feed-updater.ts";

/** Beside the app in its package, by electron-builder. */
const CONFIGURATION = "app-update.yml";

/**
 * Resolves to undefined where this copy does not look for newer ones by itself.
 * @param launcher path of the program that the app starts
 * @param logPath file that is told what was refused, and why
 */
export async function ownUpdates(launcher: string, logPath: string, clock: Clock): Promise<UpdateSource | undefined> {
  const isMac = process.platform === "darwin";
  if (!app.isPackaged || (!isMac && process.platform !== "win32")) return undefined;
  const file = new LogFile(logPath);
  const log = (sentence: string): void => file.write(`${new Date(wallMs(clock)).toISOString()} ${sentence}\n`);
  const place = await readFeedPlace(placeFileFor(launcher)).catch((error: Error) => log(error.message));
  if (!place) return undefined;
  if (!isMac && !(await knowsPublisher(join(process.resourcesPath, CONFIGURATION)))) {
    log("This copy was packed without a certificate: it does not update itself.");
    return undefined;
  }
  // It is large, and nobody else needs it.
  const { MacUpdater, NsisUpdater } = await import("electron-updater");
  const updater = new FeedUpdater(isMac ? new MacUpdater() : new NsisUpdater(), new URL(".", place.url).href, clock);
  return {
    current: VERSION,
    place,
    updater,
    fetchList: (url) => fetchFeed(url),
    look: lookAtFile,
    discard: discardFile,
    log,
  };
}
