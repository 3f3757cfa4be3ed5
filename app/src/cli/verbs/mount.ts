// runnel mount: maps a volume as a drive.
import { type Command, Option } from "commander";
import { parseSize } from "../size.ts";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

export function addMount(program: Command, output: Output): void {
  addVerb(program, "mount", "Maps a volume of a server as a drive at an empty folder.", [
    "mount ws://127.0.0.1:7473/docs ~/Docs",
  ])
    .argument("<url>", "ws://HOST:PORT/VOLUME")
    .argument("<mountpoint>", "an existing empty folder")
    .option("--cache <dir>", "where contents are cached (default: in the agent's home)")
    .option("--cache-size <size>", "how much cached contents may take: 500M, 20G (default: 20G)")
    .addOption(
      new Option("--mode <mode>", "when a close returns: sync = the server has it")
        .choices(["sync", "async"])
        .default("sync"),
    )
    .option("--map-owner", "show everything as yours, whoever owns it on the server (default, but for root)")
    .option("--no-map-owner", "show the owners that the server has")
    .option("--secret <file>", "the secret of a server without TLS that was started with --secret")
    .option("--fskit", "on macOS: without a kernel extension, at a folder below /Volumes")
    .action(
      async (
        url: string,
        mountpoint: string,
        options: {
          cache?: string;
          cacheSize?: string;
          mode: "sync" | "async";
          mapOwner?: boolean;
          secret?: string;
          fskit?: true;
        },
      ) => {
        const cache = options.cache === undefined ? {} : { cache: absolutePath(options.cache) };
        const size = options.cacheSize === undefined ? {} : { cacheBytes: parseSize(options.cacheSize) };
        const request = {
          verb: "mount",
          url,
          mountpoint: absolutePath(mountpoint),
          mode: options.mode,
          ...cache,
          ...size,
          ...(options.mapOwner === undefined ? {} : { mapOwner: options.mapOwner }),
          ...(options.secret === undefined ? {} : { secret: absolutePath(options.secret) }),
          ...(options.fskit === undefined ? {} : { usesFsKit: true }),
        } as const;
        const result = await withAgent((client) => client.ask<"mount">(request));
        output.result(result, () => [`Mounted ${result.mount.url} at ${result.mount.mountpoint}.`]);
      },
    );
}
