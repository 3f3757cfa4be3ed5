// Volumes: seen by everybody who has a right on them, made and stopped by an admin.
import { LIMITS, RunnelError } from "@runnel/shared";
import { z } from "zod";
import { BrowseRow, OfferedRow, RowsAsked, VolumeRow } from "../../live/rows.ts";
import { type Caller, type ConsoleDeps, consoleVerb } from "../console-verb.ts";
import { nothing } from "./schemas.ts";

const PATH_MAX = 32 * 1024;
const path = z.string().max(PATH_MAX);
const name = z.string().max(LIMITS.nameBytes);

export const volumes = consoleVerb(
  { asks: nothing, gives: z.object({ volumes: z.array(VolumeRow) }) },
  {
    role: "user",
    async handle(deps, _request, caller) {
      return { volumes: shownVolumes(deps, caller, await deps.engines.overview.volumes()) };
    },
  },
);

/** Returns of rows what their caller may see. */
export function shownVolumes(deps: ConsoleDeps, caller: Caller, rows: readonly VolumeRow[]): VolumeRow[] {
  const own = ownVolumes(deps, caller);
  if (own === undefined) return [...rows];
  // A place on the server is no concern of who only uses it.
  return rows.filter((row) => own.has(row.name)).map((row) => ({ ...row, folder: "" }));
}

export const createVolume = consoleVerb(
  { asks: z.object({ name, folder: path }), gives: z.object({ name: z.string() }) },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, request, { actor }) {
      await engines.maker.create(actor, { name: request.name, folder: request.folder });
      return { name: request.name };
    },
  },
);

/** Stops a volume that was made here, or serves it again. */
export const setVolume = consoleVerb(
  { asks: z.object({ name, isServed: z.boolean() }), gives: z.object({ name: z.string(), isServed: z.boolean() }) },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, request, { actor }) {
      await engines.maker.setServed(actor, request.name, request.isServed);
      return { name: request.name, isServed: request.isServed };
    },
  },
);

/** Takes a volume that was made here, and is stopped, from the list; rights on it end, its folder stays. */
export const removeVolume = consoleVerb(
  { asks: z.object({ name }), gives: z.object({ name: z.string() }) },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, request, { actor }) {
      await engines.maker.remove(actor, request.name);
      return { name: request.name };
    },
  },
);

export const browse = consoleVerb(
  {
    asks: z.object({ volume: name, path: path.default("") }).extend(RowsAsked.shape),
    gives: z.object({
      entries: z.array(BrowseRow),
      /** Key to go on after; null: these were the last. */
      after: z.string().nullable(),
      /** These are all of the folder. */
      isWhole: z.boolean(),
    }),
  },
  {
    role: "user",
    isUse: true,
    async handle(deps, request, caller) {
      if (ownVolumes(deps, caller)?.has(request.volume) === false) {
        deps.security.audit.note({ who: caller.actor, act: "browse", object: request.volume, result: "NotFound" });
        throw new RunnelError("NotFound", "browse", `None of your devices has a volume ${request.volume}.`);
      }
      const { rows, after } = await deps.engines.browse(caller.actor, request.volume, request.path, request);
      return { entries: rows, after, isWhole: request.after === undefined && after === null };
    },
  },
);

export const offered = consoleVerb(
  {
    /** "" for the folders that are offered themselves. */
    asks: z.object({ path: path.default("") }).extend(RowsAsked.shape),
    gives: z.object({
      folders: z.array(OfferedRow),
      after: z.string().nullable(),
      /** Path to ask for to see what is around; null at the top. */
      above: z.string().nullable(),
    }),
  },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, request, { actor }) {
      const { rows, after } = await engines.offeredFolders(actor, request.path, request);
      return { folders: rows, after, above: engines.above(request.path) };
    },
  },
);

/** Names of volumes on which a device of the caller has a right; undefined for an admin, who sees all. */
function ownVolumes({ security }: ConsoleDeps, { role, name: person }: Caller): Set<string> | undefined {
  if (role === "admin") return undefined;
  const own = security.devices.list().filter((device) => device.person === person && device.revokedMs === undefined);
  return new Set(own.flatMap(({ grants }) => grants.map(({ volume }) => volume)));
}
