// Finds whether, and where, this copy of the app looks for newer ones: a packed one of Windows or macOS that carries
// the place of a signed list. Packages of Linux are updated by what has installed them.
import { join } from "node:path";
import { type Clock, wallMs } from "@runnel/shared";
import { app } from "electron";
import { LogFile } from "../../agent/control/host/log-file.ts";
import { VERSION } from "../../agent/version.ts";
import { fetchFeed, placeFileFor, readFeedPlace } from "../../cli/updates/host/feed-source.ts";
import type { OwnUpdates } from "../host/desktop-system.ts";
import { discardFile, knowsPublisher, lookAtFile } from "../host/update-files.ts";
import type { UpdateSource } from "../updates/updates.ts";
import { FeedUpdater } from "./feed-updater.ts";

/** Beside the app in its package, by electron-builder. */
const CONFIGURATION = "app-update.yml";

export interface OwnUpdatesDeps {
  /** The system's way of replacing a package; undefined where the app has none. */
  own: OwnUpdates | undefined;
  /** Path of the program that the app starts. */
  launcher: string;
  /** File that is told what was refused, and why. */
  logPath: string;
  clock: Clock;
}

/** Resolves to undefined where this copy does not look for newer ones by itself. */
export async function ownUpdates(deps: OwnUpdatesDeps): Promise<UpdateSource | undefined> {
  const { own, launcher, logPath, clock } = deps;
  if (!app.isPackaged || own === undefined) return undefined;
  const file = new LogFile(logPath);
  const log = (sentence: string): void => file.write(`${new Date(wallMs(clock)).toISOString()} ${sentence}\n`);
  const place = await readFeedPlace(placeFileFor(launcher)).catch((error: Error) => log(error.message));
  if (!place) return undefined;
  if (own.needsPublisher && !(await knowsPublisher(join(process.resourcesPath, CONFIGURATION)))) {
    log("This copy was packed without a certificate: it does not update itself.");
    return undefined;
  }
  // It is large, and nobody else needs it.
  const { [own.updater]: Updater } = await import("electron-updater");
  const updater = new FeedUpdater(new Updater(), new URL(".", place.url).href, clock);
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
