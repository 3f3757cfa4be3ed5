// runnel get: the content that a URI names, into a file or to stdout.
import { RunnelError, parseObjectUri } from "@runnel/shared/base";
import { once } from "node:events";
import type { Agent } from "../../agent/agent.ts";
import { readObject } from "../../client/host/read-object.ts";
import { askAgent, withAgent } from "../../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { agentVerb } from "../verb.ts";
import { getSchemas } from "./schemas.ts";

/** A program that got a file: it is for its user, unless that says otherwise. */
const OWN_MODE = 0o600;
const NEW_FILE_MODE = 0o666;

export const get = agentVerb(getSchemas, {
  async handle(agent, { uri, file, mode = OWN_MODE, isInOrder = true }, call) {
    const asked = parseObjectUri(uri);
    const [{ findObject }, { bringAll }, { copyRange }] = [
      await import("../../agent/objects/find-object.ts"),
      await import("../../agent/objects/objects.ts"),
      await import("../../agent/objects/copy-tree.ts"),
    ];
    const ended = new RunnelError("Interrupted", "get", "The get was ended before it was done.");
    const stop = new AbortController();
    call.signal.addEventListener("abort", () => stop.abort(ended), { once: true });
    if (call.signal.aborted) throw ended;
    const target = file === undefined ? undefined : await localPath(agent, file);
    await using found = await findObject(agent, asked);
    const { opened, url } = found;
    const all = opened.sizeBytes;
    const ranges = bringAll(opened, { inOrder: isInOrder, signal: stop.signal });
    const result = { oid: asked.oid, size: all, volume: url };
    let done = 0;
    if (target !== undefined) {
      await using source = await opened.source();
      const fill: Parameters<typeof target.local.write>[1] = async (written) => {
        for await (const range of ranges) {
          await copyRange(source, written, range);
          done += range.length;
          await call.part({ path: "", ...range, all, isLast: done === all });
        }
      };
      await target.local.write(target.path, fill, { mode });
      return result;
    }
    for await (const range of ranges) {
      done += range.length;
      await call.part({ path: opened.path, ...range, all, isLast: done === all });
    }
    if (all === 0) await call.part({ path: "", offset: 0, length: 0, all, isLast: true });
    // The cache keeps it until the asker has read it.
    if (!call.signal.aborted) await once(call.signal, "abort");
    return result;
  },

  addCommand(program, output) {
    addVerb(
      program,
      "get",
      "Gets what was put under a URI, from a drive or a server that this device is\nlogged in at. What is in the cache, or in part, is not fetched again.",
      ["get 'runnel:9f86…?size=12&hint=wss%3A%2F%2Fa%3A7473%2Fdocs' report.pdf"],
    )
      .argument("<uri>", "as put printed it")
      .argument("[file]", "where to; - or left out: stdout", (typed) => (typed === "-" ? typed : absolutePath(typed)))
      .action(async (uri: string, file = "-") => {
        parseObjectUri(uri);
        if (file !== "-") {
          const mode = NEW_FILE_MODE & ~process.umask();
          let done = 0;
          const showProgress = ({ length, all }: { length: number; all: number }): void =>
            output.progress((done += length), all);
          const result = await askAgent("get", getSchemas, { uri, file, mode }, showProgress).finally(() =>
            output.endProgress(),
          );
          output.result(result, () => [`Got ${file}.`]);
          return;
        }
        if (output.isJson)
          throw new RunnelError("Invalid", "get", "With --json a file is needed: stdout has the JSON.");
        await withAgent({ get: getSchemas }, async (client) => {
          for await (const { bytes } of readObject(client, uri, { isInOrder: true }))
            if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
        });
      });
  },
});

/** @throws Invalid for a path in a drive: cp writes there. */
async function localPath(
  agent: Agent,
  file: string,
): Promise<{ path: string; local: Awaited<ReturnType<Agent["localFiles"]>> }> {
  const { path, runnelMount } = await agent.resolve(file);
  if (runnelMount === undefined) return { path, local: await agent.localFiles() };
  throw new RunnelError("Invalid", "get", `${file} is in a drive. Get it to a file outside, or to stdout.`);
}
