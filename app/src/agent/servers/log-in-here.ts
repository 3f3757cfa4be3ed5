// login and logout with the real engines.
import { hostname } from "node:os";
import { threadExecutor } from "@runnel/native";
import { RealClock } from "@runnel/shared/base";
import { AgentHome } from "../control/index.ts";
import { VERSION } from "../version.ts";
import { KnownServers } from "./known-servers.ts";
import { login } from "./login.ts";
import type { KnownPlace, LoggedIn, LoggedOut, LoginRequest } from "./login-schemas.ts";
import { logout } from "./logout.ts";

const knownHere = (): KnownServers => new KnownServers(new AgentHome().serversPath);

export function serversHere(): KnownPlace[] {
  return knownHere().list();
}

export function logOutHere(place: string): LoggedOut {
  return logout(place, knownHere());
}

export function logInHere(request: LoginRequest): Promise<LoggedIn> {
  const servers = knownHere();
  const name = hostname();
  const software = `Runnel ${VERSION} on ${name}`;
  return login(request, { servers, clock: new RealClock(), executor: threadExecutor(), software, hostname: name });
}
