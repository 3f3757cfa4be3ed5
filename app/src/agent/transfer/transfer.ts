// Makes all that moves contents between server, cache and drive, of one set of dependencies.
import type { Clock, VersionId } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import { Downloads, type DownloadsDeps } from "./download.ts";
import { OwnRecipes } from "./own-recipes.ts";
import { Uploads } from "./upload.ts";

export interface Transfer {
  downloads: Downloads;
  ownRecipes: OwnRecipes;
  uploads: Uploads;
  /**
   * Reads of a version that was committed from here, for a server that lost it. @returns undefined when not all of the
   * range is here.
   */
  bytesOfCommitted(version: VersionId, offset: number, length: number): Promise<Uint8Array | undefined>;
}

export function transferOf(deps: DownloadsDeps & { clock: Clock }): Transfer {
  return {
    downloads: new Downloads(deps),
    ownRecipes: new OwnRecipes(deps),
    uploads: new Uploads(deps),
    async bytesOfCommitted(version, offset, length) {
      const content = deps.cache.find(version);
      if (content === undefined) return undefined;
      using hold = deps.cache.hold(content);
      try {
        return await deps.cache.read(hold.content, offset, length);
      } catch (error) {
        if (isRunnelError(error)) return undefined;
        throw error;
      }
    },
  };
}
