// runnel pause: stops all that a drive, or a folder in it, sends and fetches, until a time that is shown.
import { RealClock, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { thisSystem } from "../../agent/control/host/this-system.ts";
import { Pause } from "../../agent/mount-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { DURATION_MS_MAX, parseDuration } from "../../cli/duration.ts";
import { parseMoment } from "../../cli/moment.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { count, Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

/** A drive, or a folder or file in it by its path there; "" is the drive. */
export const PausedPlace = Place.extend({ path: text });

export const pauseSchemas = {
  /** `path`: a drive, or a folder or file in one; left out, all drives. `untilMs`: by the wall clock; null: no end. */
  asks: z.object({ path: text.optional(), untilMs: count.nullable() }),
  gives: z.object({ paused: z.array(PausedPlace.extend({ pause: Pause.extend({ until: z.string() }) })) }),
};

export const pause = agentVerb(pauseSchemas, {
  pageAsks: pauseSchemas.asks,
  async handle(agent, { path: asked, untilMs }) {
    const leftMs = untilMs === null ? 1 : untilMs - Number(agent.deps.clock.wallNs() / 1_000_000n);
    if (!(leftMs > 0 && leftMs <= DURATION_MS_MAX))
      throw new RunnelError("Invalid", "pause", "A pause ends in the future, within 366 days.");
    const at = asked === undefined ? undefined : await agent.locate("pause", asked);
    if (at !== undefined && at.path !== "") {
      const { mount, path } = at;
      await agent.pauseFolder(mount, path, untilMs);
      const { url, mountpoint, pausedFolders } = await mount.status(false);
      const paused = pausedFolders.filter((each) => each.path === path);
      return { paused: paused.map((now) => ({ url, mountpoint, path, pause: now })) };
    }
    const mounts = at === undefined ? await agent.mountsAt("pause") : [at.mount];
    await agent.pause(mounts, untilMs);
    const statuses = await Promise.all(mounts.map((mount) => mount.status(false)));
    return {
      paused: statuses.flatMap(({ url, mountpoint, pause: now }) =>
        now === null ? [] : [{ url, mountpoint, path: "", pause: now }],
      ),
    };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "pause",
      "Stops all that a drive, every drive, or a folder in one sends and fetches. What is here stays readable.\nWhat you change waits here where the drive is async, and cannot be changed where it is sync.",
      ["pause --for 1h", "pause ~/Docs --until 8:00", "pause ~/Docs/Films"],
    )
      .argument("[path]", "a drive, or a folder or file in one (default: all drives)", absolutePath)
      .option("--for <time>", "30m, 1h, 2d; without an end it lasts until you resume it", parseDuration)
      .option("--until <time>", "8:00, or 2026-12-24T18:00")
      .action(async (path: string | undefined, { for: forMs, until }: { for?: number; until?: string }) => {
        if (forMs !== undefined && until !== undefined)
          throw new RunnelError("Invalid", "pause", "Give --for or --until, not both.");
        const nowMs = Number(new RealClock().wallNs() / 1_000_000n);
        const untilMs = until !== undefined ? parseMoment(until, nowMs) : forMs === undefined ? null : nowMs + forMs;
        const result = await askAgent("pause", pauseSchemas, { path, untilMs });
        output.result(result, () =>
          result.paused.length === 0
            ? ["No drives are mounted."]
            : result.paused.map((place) => `Paused ${placeOf(place)} ${place.pause.until}.`),
        );
      });
  },
});

/** Path on this computer. */
export function placeOf({ mountpoint, path }: z.infer<typeof PausedPlace>): string {
  return path === "" ? mountpoint : thisSystem.paths.onDrive(mountpoint, path);
}
