// Makes all that moves contents between server, cache and drive, of one set of dependencies.
import type { Clock, Executor, VersionId } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";
import { bytesOfCommitted } from "./committed-bytes.ts";
import { Downloads } from "./download.ts";
import type { ReuseCounts } from "./arrivals.ts";
import { OwnRecipes } from "./own-recipes.ts";
import { Uploads } from "./upload.ts";

export interface Transfer {
  downloads: Downloads;
  ownRecipes: OwnRecipes;
  uploads: Uploads;
  /** @returns undefined when not all of the range is here. */
  bytesOfCommitted(version: VersionId, offset: number, length: number): Promise<Uint8Array | undefined>;
}

export function transferOf(deps: {
  cache: Cache;
  session: Session;
  executor: Executor;
  clock: Clock;
  reused: ReuseCounts;
}): Transfer {
  return {
    downloads: new Downloads(deps),
    ownRecipes: new OwnRecipes(deps),
    uploads: new Uploads(deps),
    bytesOfCommitted: (version, offset, length) => bytesOfCommitted(deps.cache, version, offset, length),
  };
}
