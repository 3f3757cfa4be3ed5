// runnel openers: who else has a file or folder open, as far as the server knows.
import { RealClock } from "@runnel/shared/base";
import { z } from "zod";
import { type Opener, Openers } from "../../agent/mount-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatTime } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { Place, text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `path`: of a file or folder in a drive, or of the drive. */
  asks: z.object({ path: text }),
  gives: Openers.extend({ ...Place.shape, path: z.string() }),
};

export const openers = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { path: asked }) {
    const { mount, path } = await agent.locate("openers", asked);
    const { url, mountpoint } = mount.settings;
    return { url, mountpoint, path, ...(await mount.openers(path)) };
  },

  addCommand(program, output) {
    addVerb(program, "openers", "Shows who else has a file open, or a folder on a drive, as far as the server knows.", [
      "openers ~/Docs/report.txt",
    ])
      .argument("<path>", "in a drive, or a drive", absolutePath)
      .action(async (path: string) => {
        const result = await askAgent("openers", schemas, { path });
        output.result(result, () => describeOpeners(result, Number(new RealClock().wallNs() / 1_000_000n)));
      });
  },
});

/** Lines about the others. A server is not told of each opening: it knows of those of the last moments. */
export function describeOpeners({ isFolder, total, openers: all }: Openers, nowMs: number): string[] {
  const others = all.filter(({ isOwn }) => !isOwn);
  const lines = others.map((opener) => describeOpener(opener, nowMs));
  if (!isFolder && !others.some(({ hasRead }) => hasRead)) lines.unshift("Nobody else has it open.");
  if (isFolder && others.length === 0) lines.push("Nobody else has it on a drive.");
  if (total > all.length) lines.push(`And ${total - all.length} more.`);
  return lines;
}

function describeOpener({ name, isConnected, sinceMs, hasRead }: Opener, nowMs: number): string {
  const since = sinceMs === null ? "" : `, since ${momentOf(sinceMs, nowMs)}`;
  if (!isConnected) return `${name} had it on a drive${since}, and is not connected now.`;
  if (hasRead) return `${name} has it open, or had it a moment ago; on a drive${since}.`;
  return `${name} has it on a drive${since}.`;
}

/** Time of day, with the day where that is another one. */
function momentOf(ms: number, nowMs: number): string {
  const [day, time] = formatTime(ms).split(" ");
  return formatTime(nowMs).startsWith(String(day)) ? String(time) : formatTime(ms);
}
