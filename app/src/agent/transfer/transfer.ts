// What moves contents between server, cache and drive, made of one set of parts.
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

export function transferOf(parts: {
  cache: Cache;
  session: Session;
  executor: Executor;
  clock: Clock;
  reused: ReuseCounts;
}): Transfer {
  return {
    downloads: new Downloads(parts),
    ownRecipes: new OwnRecipes(parts),
    uploads: new Uploads(parts),
    bytesOfCommitted: (version, offset, length) => bytesOfCommitted(parts.cache, version, offset, length),
  };
}
