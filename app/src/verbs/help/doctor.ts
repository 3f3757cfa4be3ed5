// runnel doctor: looks for what keeps drives from working, and says what to do.
import { z } from "zod";
import type { Agent } from "../../agent/agent.ts";
import type { Checked } from "../../agent/control/host/checked.ts";
import { checkRoom } from "../../agent/control/host/room-check.ts";
import { thisSystem } from "../../agent/control/host/this-system.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { describeStuck } from "../../cli/describe-server.ts";
import { addVerb } from "../../cli/verb.ts";
import { checkLoginStart } from "../start-at-login.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  asks: z.object({}),
  gives: z.object({
    checks: z.array(
      z.object({ about: z.string(), isFine: z.boolean(), sentence: z.string(), next: z.string().nullable() }),
    ),
  }),
};

export const doctor = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent) {
    return { checks: await checksOf(agent) };
  },

  addCommand(program, output) {
    addVerb(program, "doctor", "Looks for what keeps drives from working, and says what to do.", ["doctor"]).action(
      async () => {
        const result = await askAgent("doctor", schemas, {});
        output.result(result, () => result.checks.flatMap(describeCheck));
      },
    );
  },
});

async function checksOf(agent: Agent): Promise<Checked[]> {
  const mounts = await agent.mountsAt("doctor");
  const caches = new Set(mounts.map(({ settings }) => settings.cacheFolder));
  const checks = [
    await thisSystem.checkDrives(process.env, "/"),
    ...(await agent.deps.checkLogins()),
    ...(await checkLoginStart(await agent.deps.loginStart())),
    await checkRoom(agent.deps.home.folder, "Runnel's own files"),
    ...(await Promise.all([...caches].map((folder) => checkRoom(folder, "the cache")))),
  ];
  for (const mount of mounts) {
    const { mountpoint, sentence, state, problems, refusal, server } = await mount.status(true);
    const stuck = server === null ? [] : describeStuck(server);
    const isFine = state !== "offline" && refusal === null && problems.length + stuck.length === 0;
    const next = state === "offline" ? "Look whether the server runs and this computer has a network." : null;
    checks.push({ about: mountpoint, isFine, sentence: [sentence, ...problems, ...stuck].join(" "), next });
  }
  for (const { url, mountpoint } of agent.lost)
    checks.push({
      about: mountpoint,
      isFine: false,
      sentence: "The agent ended without unmounting this drive.",
      next: `Map it again: ${url}`,
    });
  return checks;
}

function describeCheck({ about, isFine, sentence, next }: Checked): string[] {
  const said = [`${isFine ? "fine " : "LOOK "} ${about}: ${sentence}`];
  return next === null ? said : [...said, `      ${next}`];
}
