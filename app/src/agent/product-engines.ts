// Engines of the product's agent. Loaded when first used: a command that asks a running agent, or an agent that only
// answers `status`, needs neither addon nor database.
import type { AgentEngines } from "./run-agent.ts";
import { parsePredicate } from "@runnel/shared";
import { homeFolder } from "./control/host/agent-home.ts";

let hasSupplies = false;

export const productEngines: AgentEngines = {
  parsePredicate,
  openMount: async (settings, log, happened) => {
    hasSupplies = true;
    return (await import("./open-mount.ts")).openMount(settings, log, happened);
  },
  supplies: async (log) => {
    hasSupplies = true;
    const [{ suppliesHere }, { mountLog }] = await Promise.all([
      import("./supply/supplies-here.ts"),
      import("./mount-log.ts"),
    ]);
    return suppliesHere(mountLog(log));
  },
  closeSupplies: async () => {
    if (hasSupplies) await (await import("./supply/supplies-here.ts")).closeSuppliesHere();
  },
  carrier: async () => (await import("./carry/carrier-here.ts")).carrierHere(),
  disk: async () => (await import("@runnel/native")).realDisk(),
  login: async (request) => (await import("./servers/log-in-here.ts")).logInHere(request),
  logout: async (place) => (await import("./servers/log-in-here.ts")).logOutHere(place),
  checkLogins: async () => (await import("./servers/log-in-here.ts")).checkLoginsHere(),
  loginStart: async () => (await import("./start/host/login-start-here.ts")).loginStartHere(homeFolder()),
  servers: async () => (await import("./servers/log-in-here.ts")).serversHere(),
  findByUrl: async function* (url, predicate, secretPath) {
    yield* (await import("./find-by-url.ts")).findByUrl(url, predicate, secretPath);
  },
};
