// The servers that know this device, login and logout, with the real engines.
import { hostname } from "node:os";
import { threadExecutor } from "@runnel/native";
import { RealClock } from "@runnel/shared/base";
import { AgentHome } from "../control/index.ts";
import { VERSION } from "../version.ts";
import type { Checked } from "../control/host/checked.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { checkLogins } from "./check-logins.ts";
import { KnownServers } from "./known-servers.ts";
import { login } from "./login.ts";
import type { KnownPlace, LoggedIn, LoggedOut, LoginRequest } from "./login-schemas.ts";
import { logout } from "./logout.ts";

const known = new Map<string, KnownServers>();

/** The same for all of this process: tokens are moved by one. */
export function knownHere(): KnownServers {
  const { folder, serversPath } = new AgentHome();
  const here = known.get(folder) ?? new KnownServers(serversPath, () => secretsOf(folder));
  known.set(folder, here);
  return here;
}

const secretsOf = async (folder: string): Promise<Secrets> =>
  (await import("../secrets/host/secrets-here.ts")).secretsHere(folder);

export async function checkLoginsHere(): Promise<Checked[]> {
  const { folder, serversPath } = new AgentHome();
  return checkLogins(knownHere(), await secretsOf(folder), serversPath);
}

export function serversHere(): KnownPlace[] {
  return knownHere().list();
}

export function logOutHere(place: string): Promise<LoggedOut> {
  return logout(place, knownHere());
}

export function logInHere(request: LoginRequest): Promise<LoggedIn> {
  const servers = knownHere();
  const name = hostname();
  const software = `Runnel ${VERSION} on ${name}`;
  return login(request, { servers, clock: new RealClock(), executor: threadExecutor(), software, hostname: name });
}
