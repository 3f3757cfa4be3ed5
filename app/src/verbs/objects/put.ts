// runnel put: a content becomes an object of a volume, and is named by a URI.
import { CHUNK_KINDS, type ChunkKind, RunnelError, formatObjectUri } from "@runnel/shared/base";
import { Option } from "commander";
import { putSpooled } from "../../client/host/put-spooled.ts";
import { parseDuration } from "../../cli/duration.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { isUrl } from "../../agent/control/volume-url.ts";
import { agentVerb } from "../verb.ts";
import { putSchemas } from "./schemas.ts";

interface PutOptions {
  to?: string;
  chunks: ChunkKind;
  for?: number;
}

const MS = 1000;

export const putVerb = agentVerb(putSchemas, {
  async handle(agent, { file, to, lifeMs, chunks }, call) {
    const [{ openSource, volumeFor }, { LIFE_MS, putObject }] = [
      await import("../../agent/objects/find-object.ts"),
      await import("../../agent/objects/objects.ts"),
    ];
    using volume = await volumeFor(agent, to);
    await using source = await openSource(agent, file);
    const stop = new AbortController();
    const ended = new RunnelError("Interrupted", "put", "The put was ended before it was done.");
    call.signal.addEventListener("abort", () => stop.abort(ended), { once: true });
    if (call.signal.aborted) throw ended;
    const all = source.sizeBytes;
    const made = await putObject(volume.files, source, agent.deps.clock, {
      lifeMs: lifeMs ?? LIFE_MS,
      chunks,
      signal: stop.signal,
      progress: (done) => void call.part({ done, all }).catch(() => undefined),
    });
    return {
      uri: formatObjectUri(made),
      oid: made.oid,
      size: made.sizeBytes,
      volume: volume.files.url,
      untilMs: made.until * MS,
      wasThere: made.wasThere,
    };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "put",
      "Puts a file into a volume for programs, and prints a URI by which those\nwith a right on the volume get it. What the volume has is not sent again.",
      ["put report.pdf", "put - --to wss://files.example.org:7473/docs --for 2d < backup.tar"],
    )
      .argument("<file>", "a file, or - for what comes on stdin", (typed) =>
        typed === "-" ? typed : absolutePath(typed),
      )
      .option("--to <where>", "a path in a drive, or wss://HOST:PORT/VOLUME (default: the one drive)", (typed) =>
        isUrl(typed) ? typed : absolutePath(typed),
      )
      .addOption(
        new Option("--chunks <kind>", "cut where the content says, or fixed: for what is compressed or encrypted")
          .choices(CHUNK_KINDS)
          .default("content"),
      )
      .option("--for <duration>", "how long it lives: 30m, 24h, 7d (default: 7d)", parseDuration)
      .action(async (file: string, { to, chunks, for: lifeMs }: PutOptions) => {
        const asked = { to, lifeMs, chunks };
        const showProgress = ({ done, all }: { done: number; all: number }): void => output.progress(done, all);
        const ask = (path: string): ReturnType<typeof askAgent<typeof putSchemas>> =>
          askAgent("put", putSchemas, { ...asked, file: path }, showProgress).finally(() => output.endProgress());
        const result = file === "-" ? await putSpooled(process.stdin, ask) : await ask(file);
        output.result(result, () => [result.uri]);
      });
  },
});
