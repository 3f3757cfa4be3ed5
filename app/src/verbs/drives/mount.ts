// runnel mount: maps a volume as a drive.
import { z } from "zod";
import type { Agent } from "../../agent/agent.ts";
import { volumeUrl } from "../../agent/control/volume-url.ts";
import type { Mount } from "../../agent/mount.ts";
import { MountStatus } from "../../agent/mount-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { COLLEAGUES_UP, type ColleagueOptions, METERED, askedOfColleagues } from "../../cli/colleague-options.ts";
import { parseSize } from "../../cli/size.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { notFromPage, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

/** Devices that a drive may share its cache with. */
export const COLLEAGUES = ["off", "network", "everyone"] as const;

/** Bytes a second; null: as much as the line takes. */
export const colleaguesUp = z.int().min(1).nullable().optional();
export const metered = z.boolean().nullable().optional();

export const mountSchemas = {
  asks: z.object({
    url: text,
    mountpoint: text,
    cache: text.optional(),
    cacheBytes: z.int().nonnegative().optional(),
    mode: z.enum(["sync", "async"]).optional(),
    /** Bytes that contents which wait to be sent may take here, in mode async. */
    unsentBytes: z.int().nonnegative().optional(),
    /** Show everything as the mounting user's; undefined: when that is not root. */
    mapOwner: z.boolean().optional(),
    /** macOS: through FSKit. */
    usesFsKit: z.boolean().optional(),
    /** Over NFS on loopback, without any driver. */
    usesNfs: z.boolean().optional(),
    /** Path of the server's secret, without TLS. */
    secret: text.optional(),
    /** Share what is cached with other devices that use the volume; undefined: as before, at first not. */
    colleagues: z.enum(COLLEAGUES).optional(),
    /** Bytes a second that they get at the most. */
    colleaguesUpBytes: colleaguesUp,
    /** A person's word on the line, or null: the system's. */
    isMetered: metered,
    /** Map it again after the agent has ended; undefined: as before, at first not. */
    keep: z.boolean().optional(),
  }),
  gives: z.object({ mount: MountStatus }),
};

/** Bytes that cached contents may take unless a person says otherwise. */
const CACHE_BYTES = 20 * 1024 ** 3;

/** Options by other names than what an agent is asked. */
type Renamed = "cacheBytes" | "unsentBytes" | "usesFsKit" | "usesNfs" | "colleaguesUpBytes" | "isMetered";

interface MountOptions
  extends Omit<z.input<typeof mountSchemas.asks>, "url" | "mountpoint" | Renamed>, ColleagueOptions {
  cacheSize?: number;
  unsentSize?: number;
  fskit?: boolean;
  nfs?: boolean;
}

export const mount = agentVerb(mountSchemas, {
  pageAsks: mountSchemas.asks.extend({ cache: notFromPage, secret: notFromPage }),
  async handle(agent, asked) {
    const mounted = await mountAsAsked(agent, asked);
    return { mount: await mounted.status(false) };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "mount",
      "Maps a volume of a server as a drive: at an empty folder, on Windows at a letter or a share.",
      ["mount ws://127.0.0.1:7473/docs ~/Docs"],
    )
      .argument("<url>", "ws://HOST:PORT/VOLUME")
      .argument(
        "<mountpoint>",
        "an existing empty folder; on Windows a free letter or share, as R: or \\\\runnel\\docs",
        absolutePath,
      )
      .option("--cache <dir>", "where contents are cached (default: in the agent's home)", absolutePath)
      .option("--cache-size <size>", "how much cached contents may take: 500M, 20G (default: 20G)", parseSize)
      .addOption(
        program
          .createOption(
            "--mode <mode>",
            "when a close returns: sync = the server has it, async = this computer has it (default: sync)",
          )
          .choices(["sync", "async"]),
      )
      .option(
        "--unsent-size <size>",
        "async: how much may wait here to be sent (default: 20G, or half the disk)",
        parseSize,
      )
      .addOption(
        program
          .createOption("--colleagues <who>", "share what is cached with others who use the volume (default: off)")
          .choices(COLLEAGUES),
      )
      .option(...COLLEAGUES_UP)
      .option(...METERED)
      .option("--keep", "map it again after a restart, with the desktop app or runnel reconnect, until you unmount it")
      .option("--map-owner", "show everything as yours, whoever owns it on the server (default, but for root)")
      .option("--no-map-owner", "show the owners that the server has")
      .option("--secret <file>", "the secret of a server without TLS that was started with --secret", absolutePath)
      .option("--fskit", "on macOS: without a kernel extension, at a folder below /Volumes")
      .addOption(
        program
          .createOption(
            "--nfs",
            "without any driver, over NFS on this computer: macOS maps it, elsewhere it has an address",
          )
          .conflicts("fskit"),
      )
      .action(async (url: string, mountpoint: string, options: MountOptions) => {
        const { cacheSize: cacheBytes, unsentSize: unsentBytes, fskit: usesFsKit, nfs: usesNfs, ...rest } = options;
        const own = { url, mountpoint, cacheBytes, unsentBytes, usesFsKit, usesNfs };
        const asked = { ...rest, ...own, ...askedOfColleagues(rest) };
        const result = await askAgent("mount", mountSchemas, asked);
        output.result(result, () => mountedLines(result.mount));
      });
  },
});

function mountedLines({ url, mountpoint, address }: MountStatus): string[] {
  if (address === null) return [`Mounted ${url} at ${mountpoint}.`];
  return [`Serving ${url} as ${mountpoint}, whose folder stays empty. Programs with libnfs reach it at`, address];
}

/** Mounts with what is asked; a drive that an agent left behind comes back with the options that it had. */
export async function mountAsAsked(agent: Agent, asked: z.output<typeof mountSchemas.asks>): Promise<Mount> {
  const { mountpoint, cache, cacheBytes, mode, mapOwner, usesFsKit, usesNfs, secret, keep } = asked;
  const url = volumeUrl(asked.url);
  const before = agent.recordAt(url, mountpoint)?.options;
  const secretPath = secret ?? before?.secretPath;
  const unsentBytes = asked.unsentBytes ?? before?.unsentBytes;
  const colleagues = asked.colleagues ?? before?.colleagues;
  const orBefore = <T>(now: T | null | undefined, then: T | undefined): T | undefined =>
    now === null ? undefined : (now ?? then);
  const colleaguesUpBytes = orBefore(asked.colleaguesUpBytes, before?.colleaguesUpBytes);
  const isMetered = orBefore(asked.isMetered, before?.isMetered);
  return agent.mount({
    url,
    mountpoint,
    cacheFolder: cache ?? before?.cacheFolder ?? agent.deps.home.cacheFolder,
    cacheBytes: cacheBytes ?? before?.cacheBytes ?? CACHE_BYTES,
    isAsync: mode === undefined ? (before?.isAsync ?? false) : mode === "async",
    mapOwner: mapOwner ?? before?.mapOwner ?? process.getuid?.() !== 0,
    usesFsKit: usesFsKit ?? before?.usesFsKit ?? false,
    usesNfs: usesNfs ?? before?.usesNfs ?? false,
    isKept: keep ?? before?.isKept ?? false,
    ...(secretPath === undefined ? {} : { secretPath }),
    ...(unsentBytes === undefined ? {} : { unsentBytes }),
    ...(colleagues === undefined ? {} : { colleagues }),
    ...(colleaguesUpBytes === undefined ? {} : { colleaguesUpBytes }),
    ...(isMetered === undefined ? {} : { isMetered }),
    ...(before?.pause === undefined ? {} : { pause: before.pause }),
    ...(before?.pausedFolders === undefined ? {} : { pausedFolders: before.pausedFolders }),
  });
}
