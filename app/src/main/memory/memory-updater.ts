// An updater that fetches and installs nothing: a test says what the feed offers, and what comes of it.
import type { FileFacts, Updater } from "../updates/updater.ts";

export class MemoryUpdater implements Updater {
  /** Newest version, as the feed tells of it; undefined: it has none that is newer. */
  offered: unknown;
  /** Failure of looking or downloading. */
  failure: Error | undefined;
  /** File that was downloaded, as it lies there now; undefined: it is gone. */
  file: FileFacts | undefined;
  looks = 0;
  /** Bound of each download. */
  readonly downloads: number[] = [];
  /** Takes what became of each installation. */
  readonly installs: ((cause: unknown) => void)[] = [];

  look(): Promise<unknown> {
    this.looks++;
    return this.failure === undefined ? Promise.resolve(this.offered) : Promise.reject(this.failure);
  }

  download(bytesMax: number): Promise<string> {
    this.downloads.push(bytesMax);
    return this.failure === undefined ? Promise.resolve("update.exe") : Promise.reject(this.failure);
  }

  install(failed: (cause: unknown) => void): void {
    this.installs.push(failed);
  }

  lookAtFile(): Promise<FileFacts> {
    return this.file === undefined ? Promise.reject(new Error("It is gone.")) : Promise.resolve(this.file);
  }

  discard(): Promise<void> {
    this.file = undefined;
    return Promise.resolve();
  }
}
