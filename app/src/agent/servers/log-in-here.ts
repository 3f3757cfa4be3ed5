// login with the real engines.
import { hostname } from "node:os";
import { threadExecutor } from "@runnel/native";
import { RealClock } from "@runnel/shared";
import { AgentHome } from "../control/index.ts";
import { VERSION } from "../version.ts";
import { KnownServers } from "./known-servers.ts";
import { type LoggedIn, login, type LoginRequest } from "./login.ts";

export function logInHere(request: LoginRequest): Promise<LoggedIn> {
  const servers = new KnownServers(new AgentHome().serversPath);
  const name = hostname();
  const software = `Runnel ${VERSION} on ${name}`;
  return login(request, { servers, clock: new RealClock(), executor: threadExecutor(), software, hostname: name });
}
