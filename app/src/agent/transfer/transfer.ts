// What moves contents between server, cache and drive, made of one set of parts.
import type { Clock, Executor } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";
import { Downloads } from "./download.ts";
import type { ReuseCounts } from "./arrivals.ts";
import { OwnRecipes } from "./own-recipes.ts";
import { Uploads } from "./upload.ts";

export interface Transfer {
  downloads: Downloads;
  ownRecipes: OwnRecipes;
  uploads: Uploads;
}

export function transferOf(parts: {
  cache: Cache;
  session: Session;
  executor: Executor;
  clock: Clock;
  reused: ReuseCounts;
}): Transfer {
  return { downloads: new Downloads(parts), ownRecipes: new OwnRecipes(parts), uploads: new Uploads(parts) };
}
