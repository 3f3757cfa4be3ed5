// Engines of the product's agent. Loaded when first used: a command that asks a running agent, or an agent that only
// answers `status`, needs neither addon nor database.
import type { AgentEngines } from "./run-agent.ts";
import { parsePredicate } from "@runnel/shared";

export const productEngines: AgentEngines = {
  parsePredicate,
  disk: async () => (await import("@runnel/native")).realDisk(),
  openMount: async (settings, log, happened) => (await import("./open-mount.ts")).openMount(settings, log, happened),
  login: async (request) => (await import("./servers/log-in-here.ts")).logInHere(request),
  logout: async (place) => (await import("./servers/log-in-here.ts")).logOutHere(place),
  servers: async () => (await import("./servers/log-in-here.ts")).serversHere(),
  findByUrl: async function* (url, predicate, secretPath) {
    yield* (await import("./find-by-url.ts")).findByUrl(url, predicate, secretPath);
  },
};
