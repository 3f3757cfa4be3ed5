// The commands by their names, in the order of the help. Each is loaded when it is asked for: loading all of them took
// longer than what most of them do.
import type { Command } from "commander";
import type { AgentVerb } from "../verbs/verb.ts";
import type { Output } from "./output.ts";

/** Adds a command to a program. */
export type AddCommand = (program: Command, output: Output) => void;

async function commandOf({ addCommand }: Pick<AgentVerb, "addCommand">): Promise<AddCommand> {
  return (program, output) => addCommand?.(program, output);
}

export const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import("./verbs/serve.ts")).addServe,
  console: async () => (await import("./verbs/console.ts")).addConsole,
  invite: async () => (await import("./verbs/invite.ts")).addInvite,
  invites: async () => (await import("./verbs/invites.ts")).addInvites,
  devices: async () => (await import("./verbs/devices.ts")).addDevices,
  right: async () => (await import("./verbs/right.ts")).addRight,
  revoke: async () => (await import("./verbs/revoke.ts")).addRevoke,
  audit: async () => (await import("./verbs/audit.ts")).addAudit,
  login: async () => commandOf((await import("../verbs/servers/login.ts")).login),
  logout: async () => commandOf((await import("../verbs/servers/logout.ts")).logout),
  servers: async () => commandOf((await import("../verbs/servers/servers.ts")).servers),
  mount: async () => commandOf((await import("../verbs/drives/mount.ts")).mount),
  unmount: async () => commandOf((await import("../verbs/drives/unmount.ts")).unmount),
  reconnect: async () => commandOf((await import("../verbs/drives/reconnect.ts")).reconnect),
  set: async () => commandOf((await import("../verbs/drives/set.ts")).set),
  "start-at-login": async () => commandOf((await import("../verbs/start-at-login.ts")).startAtLogin),
  pause: async () => commandOf((await import("../verbs/pauses/pause.ts")).pause),
  resume: async () => commandOf((await import("../verbs/pauses/resume.ts")).resume),
  flush: async () => commandOf((await import("../verbs/flush.ts")).flush),
  unsent: async () => commandOf((await import("../verbs/unsent.ts")).unsent),
  status: async () => commandOf((await import("../verbs/status.ts")).status),
  stats: async () => commandOf((await import("../verbs/stats.ts")).stats),
  savings: async () => commandOf((await import("../verbs/savings.ts")).savings),
  activity: async () => commandOf((await import("../verbs/activity.ts")).activity),
  find: async () => commandOf((await import("../verbs/find.ts")).find),
  remove: async () => commandOf((await import("../verbs/remove.ts")).remove),
  put: async () => commandOf((await import("../verbs/objects/put.ts")).putVerb),
  get: async () => commandOf((await import("../verbs/objects/get.ts")).get),
  cp: async () => commandOf((await import("../verbs/objects/copy.ts")).copy),
  "mail-relay": async () => (await import("./verbs/mail-relay.ts")).addMailRelay,
  pin: async () => commandOf((await import("../verbs/pins/pin.ts")).pin),
  unpin: async () => commandOf((await import("../verbs/pins/unpin.ts")).unpin),
  evict: async () => commandOf((await import("../verbs/pins/evict.ts")).evict),
  supply: async () => commandOf((await import("../verbs/supply/supply.ts")).supply),
  carry: async () => commandOf((await import("../verbs/supply/carry.ts")).carryOut),
  openers: async () => commandOf((await import("../verbs/drives/openers.ts")).openers),
  settle: async () => commandOf((await import("../verbs/settle.ts")).settle),
  doctor: async () => commandOf((await import("../verbs/help/doctor.ts")).doctor),
  ui: async () => commandOf((await import("../verbs/open-page.ts")).openPage),
  update: async () => (await import("./verbs/update.ts")).addUpdate,
  stop: async () => commandOf((await import("../verbs/stop.ts")).stop),
  completion: async () => (await import("./verbs/completion.ts")).addCompletion,
  agent: async () => (await import("./verbs/agent.ts")).addAgent,
};
