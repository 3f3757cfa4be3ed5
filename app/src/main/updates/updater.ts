// The seam between what decides about an update of the app and what fetches and installs it. Its engines are
// `electron/feed-updater.ts`, over electron-updater, and `memory/` for tests.
import { z } from "zod";

/**
 * A version as electron-updater's own file tells of it (latest.yml), which nobody has signed. Fields that would make it
 * do more than download a plain file of this folder (packages of web installers, rights of an administrator, other
 * digests) are in no file that is made for Runnel (installers/src/app-feed.ts).
 */
export const OfferedVersion = z.object({
  version: z.string().max(64),
  files: z
    .array(
      z.strictObject({
        url: z.string().max(200),
        sha512: z.string().max(200),
        size: z.int().nonnegative(),
        blockMapSize: z.int().optional(),
      }),
    )
    .min(1)
    .max(16),
  packages: z.never().optional(),
});
export type OfferedVersion = z.infer<typeof OfferedVersion>;

export interface Updater {
  /**
   * Asks the feed for its newest version.
   * @returns undefined when that is not newer than this one; else what the feed's file says, as it was read
   * @throws when there is no reaching it, or it cannot be read
   */
  look(): Promise<unknown>;
  /**
   * Downloads what `look` has found, or finds it downloaded already. Resolves to the path of the file.
   * @param bytesMax a longer answer is cut, and refused
   * @throws when it does not come, or is not what the feed's file says, or is signed by another publisher
   */
  download(bytesMax: number): Promise<string>;
  /** Ends the app, installs what was downloaded and starts the app again. `failed`: it did not, as became known. */
  install(failed: (cause: unknown) => void): void;
}

/** A file as it lies on the disk. */
export interface FileFacts {
  sizeBytes: number;
  /** Base64. */
  sha512: string;
}
