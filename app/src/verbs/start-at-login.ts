// runnel start-at-login: whether the drives that are kept are mapped again when this user logs in, and by what.
import { Argument } from "commander";
import { z } from "zod";
import type { Checked } from "../agent/control/host/checked.ts";
import type { LoginStart, StartLook } from "../agent/start/login-start.ts";
import { askAgent } from "../cli/agent-connection.ts";
import { addVerb } from "../cli/verb.ts";
import { text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  /** Left out: only looks. */
  asks: z.object({ starts: z.boolean().optional() }),
  gives: z.object({ state: z.enum(["off", "on", "moved", "foreign"]), place: text, obstacle: text.nullable() }),
};

export const startAtLogin = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { starts }) {
    const start = await agent.deps.loginStart();
    return starts === undefined ? start.look() : start.set(starts);
  },

  addCommand(program, output) {
    addVerb(program, "start-at-login", "Maps the drives that are kept (mount --keep) when you log in, or no more.", [
      "start-at-login",
      "start-at-login on",
      "start-at-login off",
    ])
      .addArgument(new Argument("[switch]", "left out: says what is set").choices(["on", "off"]))
      .action(async (word: string | undefined) => {
        const request = word === undefined ? {} : { starts: word === "on" };
        const result = await askAgent("startAtLogin", schemas, request);
        output.result(result, () => [describeStart(result)]);
      });
  },
});

/** Says to a person what is started at log-in. */
export function describeStart({ state, place, obstacle }: StartLook): string {
  if (state === "on") return `The drives that are kept are mapped when you log in: ${place}`;
  if (state === "moved") return `Another copy of Runnel is started when you log in: ${place}`;
  return ["Nothing of Runnel is started when you log in.", ...(obstacle === null ? [] : [obstacle])].join(" ");
}

/** Looks whether what is started at log-in is this copy of Runnel; says nothing of what nobody has asked for. */
export async function checkLoginStart(start: LoginStart): Promise<Checked[]> {
  const about = "Start at login";
  const look = await start.look().catch(() => undefined);
  if (look === undefined || look.state === "off" || look.state === "foreign") return [];
  const sentence = describeStart(look);
  if (look.state === "on") return [{ about, isFine: true, sentence, next: null }];
  return [{ about, isFine: false, sentence, next: "Start this one instead: runnel start-at-login on" }];
}
