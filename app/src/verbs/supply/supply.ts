// runnel supply: folders of this computer that chunks are taken from where they lie.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { SupplyStatus } from "../../agent/supply/supply-status.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes, formatCount } from "../../cli/format.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** Without a path: lists them. */
  asks: z.object({ path: text.optional(), remove: z.boolean() }),
  gives: z.object({ supplies: z.array(SupplyStatus) }),
};

export const supply = agentVerb(schemas, {
  async handle(agent, { path: asked, remove }) {
    const supplies = await agent.deps.supplies(agent.deps.log);
    if (asked === undefined) return { supplies: supplies.list() };
    // A stick may be away when its supply is removed.
    const isListed = supplies.list().some((each) => each.path === asked);
    if (remove) {
      await supplies.remove(isListed ? asked : (await agent.resolve(asked)).path);
      return { supplies: supplies.list() };
    }
    const { path, runnelMount } = await agent.resolve(asked);
    if (runnelMount !== undefined) {
      const sentence = `${path} lies in a drive, whose bytes come over the line. Name a folder of this computer or a stick.`;
      throw new RunnelError("Invalid", "supply", sentence);
    }
    if (path === "/") throw new RunnelError("Invalid", "supply", "/ is all of this computer. Name a folder in it.");
    return { supplies: [await supplies.add(path)] };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "supply",
      "Takes what a folder has from there where it lies, in place of the line: an old copy,\nanother tool's folder, a disk. Without a folder: lists them.",
      ["supply ~/Dropbox/Docs", "supply", "supply --remove ~/Dropbox/Docs"],
    )
      .argument("[dir]", "a folder of this computer", absolutePath)
      .option("--remove", "use it no more; nothing in it is changed")
      .action(async (path: string | undefined, { remove = false }: { remove?: boolean }) => {
        if (remove && path === undefined) throw new RunnelError("Invalid", "supply", "Name the folder to remove.");
        const result = await askAgent("supply", schemas, { path, remove });
        output.result(result, () => {
          if (remove) return [`${path} is no supply any more.`];
          if (result.supplies.length === 0) return ["There are no supplies. Name a folder: runnel supply DIR"];
          return result.supplies.flatMap(supplyLines);
        });
      });
  },
});

function supplyLines({ path, state, files, bytes, seenFiles, passedOver, problem }: SupplyStatus): string[] {
  const has = `${formatCount(files, "file", "files")}, ${formatBytes(bytes)}`;
  const now = state === "scanning" ? `being looked through (${formatCount(seenFiles, "file", "files")} so far)` : state;
  const over = passedOver === 0 ? "" : `; ${passedOver} could not be read`;
  return [`${path}: ${has}, ${now}${over}`, ...(problem === null ? [] : [`  ${problem}`])];
}
