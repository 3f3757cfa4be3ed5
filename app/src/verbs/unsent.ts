// runnel unsent: what is not on the server, and what a person can do about it.
import { join } from "node:path";
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import { thisSystem } from "../agent/control/host/this-system.ts";
import type { Mount } from "../agent/mount.ts";
import type { UnsentFile } from "../agent/mount-status.ts";
import { askRunningAgent } from "../cli/agent-connection.ts";
import { formatBytes } from "../cli/format.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { notFromPage, text, Unsent } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  /**
   * `paths`: in drives; none: all drives. `exportTo`: a folder for copies. `discards`: each file that `paths` name is
   * given up, or `all`.
   */
  asks: z.object({
    paths: z.array(text).max(1024),
    exportTo: text.optional(),
    discards: z.boolean(),
    all: z.boolean(),
  }),
  /** `exportedTo`: path of the copy; `isWhole`: whether it has all bytes. */
  gives: z.object({
    unsent: z.array(
      Unsent.extend({
        url: text,
        mountpoint: text,
        exportedTo: z.string().nullable(),
        isWhole: z.boolean().nullable(),
        isDiscarded: z.boolean(),
      }),
    ),
  }),
};

interface UnsentOptions {
  export?: string;
  discard?: boolean;
  all?: boolean;
}

type ListedFile = z.infer<typeof schemas.gives>["unsent"][number];

export const unsent = agentVerb(schemas, {
  pageAsks: schemas.asks.extend({ exportTo: notFromPage }),
  async handle(agent, { paths, exportTo, discards, all }) {
    const chosen = await chooseFiles(agent, paths, discards && !all);
    const folder = exportTo === undefined ? undefined : await outsideDrives(agent, exportTo);
    const listed: ListedFile[] = [];
    for (const [mount, files] of chosen) {
      const { url, mountpoint } = mount.settings;
      const ids = files.map(({ id }) => id);
      const exported = folder === undefined ? [] : await mount.unsentFiles.exportTo(folder, ids);
      for (const [index, { id, ...shown }] of files.entries()) {
        const copy = exported[index];
        const exportedTo = copy?.path == null ? null : join(folder ?? "", copy.path);
        const reason = copy?.reason ?? shown.reason;
        // A file that should be copied first, and could not be, stays unsent.
        const isDiscarded = discards && (folder === undefined || exportedTo !== null);
        if (isDiscarded) await mount.unsentFiles.discard([id]);
        listed.push({ ...shown, reason, url, mountpoint, exportedTo, isWhole: copy?.isWhole ?? null, isDiscarded });
      }
    }
    return { unsent: listed };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "unsent",
      "Lists what was written on drives and is not on their servers: path, size,\nsince when, and why.",
      ["unsent", "unsent ~/Docs --export ~/rescued", "unsent --discard ~/Docs/draft.odt"],
    )
      .argument("[paths...]", "drives, or files and folders in them; left out: all drives")
      .option("--export <folder>", "copy the contents into this folder, over no file that is there", absolutePath)
      .option("--discard", "give up the files that are named, for good; with --export once they are copied")
      .option("--all", "with --discard: all that are listed")
      .action(async (typed: string[], { export: exportTo, discard: discards = false, all = false }: UnsentOptions) => {
        const paths = typed.map(absolutePath);
        const result = await askRunningAgent("unsent", schemas, { paths, exportTo, discards, all });
        if (result === undefined && (paths.length > 0 || discards))
          throw new RunnelError(
            "NotFound",
            "unsent",
            "No drives are mounted. What waits is listed while its drive is mounted.",
          );
        output.result(result ?? { unsent: [] }, () => describeUnsent(result?.unsent));
      });
  },
});

/** `byName`: each path is that of a file. @throws Invalid, NotFound. */
async function chooseFiles(agent: Agent, paths: readonly string[], byName: boolean): Promise<Map<Mount, UnsentFile[]>> {
  if (byName && paths.length === 0)
    throw new RunnelError("Invalid", "discard", "Name the files to be given up, or say --all for all of a drive.");
  const chosen = new Map<Mount, UnsentFile[]>();
  if (paths.length === 0)
    for (const mount of await agent.mountsAt("unsent")) chosen.set(mount, mount.unsentFiles.list());
  for (const asked of paths) {
    const { mount, path } = await agent.locate("unsent", asked);
    const isMeant = (file: UnsentFile): boolean =>
      file.path === path || (!byName && (path === "" || file.path.startsWith(`${path}/`)));
    const found = mount.unsentFiles.list().filter(isMeant);
    if (byName && found.length === 0)
      throw new RunnelError("NotFound", "discard", `${asked} is no file that is unsent. List them: runnel unsent`);
    const before = chosen.get(mount) ?? [];
    chosen.set(mount, [...before, ...found.filter(({ id }) => !before.some((each) => each.id === id))]);
  }
  return chosen;
}

/** Refuses a folder in a drive: the agent would wait for itself there. */
async function outsideDrives(agent: Agent, asked: string): Promise<string> {
  const { path, runnelMount } = await agent.resolve(asked);
  if (runnelMount === undefined) return path;
  throw new RunnelError("Invalid", "export", `${asked} lies inside the drive ${runnelMount}. Choose another folder.`);
}

function describeUnsent(files: readonly ListedFile[] | undefined): string[] {
  if (files === undefined) return ["No drives are mounted."];
  if (files.length === 0) return ["Nothing is unsent."];
  return files.flatMap((file) => {
    const since = new Date(file.sinceMs).toISOString().slice(0, 19).replace("T", " ");
    const lines = [
      `${thisSystem.paths.onDrive(file.mountpoint, file.path)}  ${formatBytes(file.sizeBytes)}, of ${since} UTC`,
    ];
    lines.push(`  ${file.reason ?? "It is sent as soon as that is possible."}`);
    if (file.exportedTo !== null) lines.push(`  Copied to ${file.exportedTo}.`);
    if (file.exportedTo !== null && file.isWhole === false)
      lines.push("  Of the version that was edited not all is left: zeros stand for the rest.");
    if (file.isDiscarded) lines.push("  Given up.");
    return lines;
  });
}
