// The updater over electron-updater, which looks into a feed of electron-builder's (latest.yml), downloads and
// installs. It does nothing of that by itself: no download when it finds something, no installation when the app ends.
import type { Clock } from "@runnel/shared";
import type { AppUpdater } from "electron-updater";
import { FEED_BYTES_MAX } from "../../cli/updates/signed-feed.ts";
import type { Updater } from "../updates/updater.ts";
import { BoundedRequests, type HasExecutor } from "./bounded-requests.ts";

export class FeedUpdater implements Updater {
  readonly #updater: AppUpdater;
  readonly #requests: BoundedRequests;
  #failed: (cause: unknown) => void = () => undefined;

  /** `folder`: address of the feed, in which the files lie. */
  constructor(updater: AppUpdater, folder: string, clock: Clock) {
    this.#updater = updater;
    this.#requests = new BoundedRequests((updater as unknown as HasExecutor).httpExecutor, clock);
    updater.logger = null;
    updater.autoDownload = false;
    updater.autoInstallOnAppQuit = false;
    updater.allowDowngrade = false;
    updater.allowPrerelease = false;
    updater.disableWebInstaller = true;
    // The maps of blocks that a difference is made by have neither a signature nor a bound.
    updater.disableDifferentialDownload = true;
    updater.setFeedURL({ provider: "generic", url: folder });
    // An installation that fails is told here alone.
    updater.on("error", (error) => this.#failed(error));
  }

  async look(): Promise<unknown> {
    this.#requests.bytesMax = FEED_BYTES_MAX;
    const found = await this.#updater.checkForUpdates();
    return found?.isUpdateAvailable === true ? found.updateInfo : undefined;
  }

  async download(bytesMax: number): Promise<string> {
    this.#requests.bytesMax = bytesMax;
    const [path] = await this.#updater.downloadUpdate();
    if (path === undefined) throw new Error("Nothing was downloaded.");
    return path;
  }

  install(failed: (cause: unknown) => void): void {
    this.#failed = failed;
    this.#updater.quitAndInstall(false, true);
  }
}
