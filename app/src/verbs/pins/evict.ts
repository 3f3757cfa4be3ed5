// runnel evict: frees what the cache holds of a file or folder.
import { z } from "zod";
import { Evicted } from "../../agent/mount-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes, formatCount } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `path`: of a file or folder in a drive, or of the drive. */
  asks: z.object({ path: text }),
  gives: z.object({ evicted: Evicted.extend({ ...Place.shape, path: z.string() }) }),
};

export const evict = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }) {
    const { mount, path } = await agent.locate("evict", asked);
    const { url, mountpoint } = mount.settings;
    return { evicted: { url, mountpoint, path, ...(await mount.evict(path)) } };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "evict",
      "Frees the space that a file or folder takes on this computer. It stays on the\nserver, and comes again when it is read.",
      ["evict ~/Docs/videos"],
    )
      .argument("<path>", "in a drive, or a drive", absolutePath)
      .action(async (path: string) => {
        const result = await askAgent("evict", schemas, { path });
        const { files, bytes, filesInUse, filesPinned } = result.evicted;
        const lines = [`Freed ${formatBytes(bytes)} (${formatCount(files, "file", "files")}).`];
        if (filesInUse > 0) lines.push(`${formatCount(filesInUse, "file is", "files are")} in use and kept.`);
        if (filesPinned > 0) lines.push(`${formatCount(filesPinned, "file is", "files are")} pinned and kept.`);
        output.result(result, () => lines);
      });
  },
});
