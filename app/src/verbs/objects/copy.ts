// runnel cp: copies between this computer, drives and volumes of servers.
import { RunnelError } from "@runnel/shared/base";
import { isUrl } from "../../agent/control/volume-url.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { printable } from "../../cli/printable.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { agentVerb } from "../verb.ts";
import { copySchemas } from "./schemas.ts";

const place = (typed: string): string => (isUrl(typed) ? typed : absolutePath(typed));

export const copy = agentVerb(copySchemas, {
  async handle(agent, { from, to, isRecursive = false }, call) {
    const [{ placeOf }, { copyTree }] = [
      await import("../../agent/objects/find-object.ts"),
      await import("../../agent/objects/copy-tree.ts"),
    ];
    const ended = new RunnelError("Interrupted", "copy", "The copy was ended before it was done.");
    const stop = new AbortController();
    call.signal.addEventListener("abort", () => stop.abort(ended), { once: true });
    if (call.signal.aborted) throw ended;
    await using source = await placeOf(agent, "copy", from);
    await using target = await placeOf(agent, "copy", to);
    return await copyTree(source, target, {
      isRecursive,
      signal: stop.signal,
      progress: ({ files, bytes }, path) => void call.part({ files, bytes, path }).catch(() => undefined),
    });
  },

  addCommand(program, output) {
    addVerb(
      program,
      "cp",
      "Copies a file, or with -r a folder, between this computer, drives and\nvolumes. Only what the other side lacks is sent. From one server to another\nthe bytes go through this computer's cache.",
      ["cp -r ~/Docs/plans wss://files.example.org:7473/archive/plans", "cp wss://files.example.org:7473/docs/a.txt ."],
    )
      .argument("<from>", "a path, or wss://HOST:PORT/VOLUME/PATH", place)
      .argument("<to>", "a path, or wss://HOST:PORT/VOLUME/PATH; a folder that is there takes the copy in", place)
      .option("-r, --recursive", "copy a folder with all in it")
      .action(async (from: string, to: string, { recursive }: { recursive?: boolean }) => {
        const result = await askAgent("copy", copySchemas, { from, to, isRecursive: recursive === true });
        output.result(result, () => [
          `Copied ${result.files} ${result.files === 1 ? "file" : "files"}, ${result.bytes} bytes.`,
          ...result.skipped.map((path) => `Left out: ${printable(path)} is a drive, or neither file nor folder.`),
        ]);
      });
  },
});
