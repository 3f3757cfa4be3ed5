// Uses an invite: this device gets a token of its own, which only the server that the invite names is ever shown.
import { randomBytes } from "node:crypto";
import type { Clock, Executor, Invite, ServerTrust } from "@runnel/shared";
import { isRunnelError, LIMITS, parseInvite, RunnelError, WsDialer, checkResult } from "@runnel/shared";
import { LineTimes } from "../wire/line-times.ts";
import { dial, greet } from "../wire/open-connection.ts";
import { type KnownServer, readAuthorities } from "./host/servers-file.ts";
import type { KnownServers } from "./known-servers.ts";
import type { LoggedIn, LoginRequest } from "./login-schemas.ts";

export interface LoginDeps {
  servers: KnownServers;
  clock: Clock;
  executor: Executor;
  software: string;
  hostname: string;
}

type Joined = Omit<LoggedIn, "url">;

const TOKEN_BYTES = 32;
/** A lost answer is asked for again: the server knows the token. */
const TRIES = 3;

/** @throws RunnelError with a sentence for a person: Invalid, Denied, Unreachable, Busy. */
export async function login(request: LoginRequest, deps: LoginDeps): Promise<LoggedIn> {
  const invite = parseInvite(request.invite);
  const { place, volume, fingerprint } = invite;
  const url = `wss://${place}/${encodeURIComponent(volume)}`;
  // A server with another key is another server, to which nothing of before is shown.
  const before = deps.servers.find(place);
  const same = before?.fingerprint === fingerprint ? before : undefined;
  const trust = trustOf(invite, request, same);
  const name = (request.name ?? deps.hostname).slice(0, LIMITS.deviceName);
  const join = (token: string): Promise<Joined> => askToJoin(url, invite, trust, token, name, deps);
  let token = (await tokenBefore(deps.servers, same)) ?? newToken();
  let joined: Joined;
  try {
    joined = await join(token);
  } catch (error) {
    if (!isRunnelError(error, "Revoked")) throw error;
    token = newToken();
    joined = await join(token);
  }
  const others = same?.volumes.filter((known) => known.name !== volume) ?? [];
  const volumes = [...others, { name: volume, isReadOnly: joined.isReadOnly }];
  await deps.servers.keep({ place, token, device: joined.device, volumes, ...trust });
  return { url, ...joined };
}

/** A token that cannot be had now is not waited for: a new one makes this device known as well. */
async function tokenBefore(servers: KnownServers, same: KnownServer | undefined): Promise<string | undefined> {
  return same === undefined ? undefined : servers.tokenOf(same).catch(() => undefined);
}

function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** Keeps what is not said now as it was. */
function trustOf({ fingerprint }: Invite, request: LoginRequest, same: KnownServer | undefined): ServerTrust {
  const proxy = request.proxy ?? same?.proxy;
  const authorities = request.caFile === undefined ? same?.authorities : readAuthorities(request.caFile);
  return { fingerprint, proxy, authorities };
}

async function askToJoin(
  url: string,
  { secret, volume }: Invite,
  trust: ServerTrust,
  token: string,
  name: string,
  { clock, executor, software }: LoginDeps,
): Promise<Joined> {
  const dialer = new WsDialer(() => trust);
  for (let tries = 1; ; tries++) {
    const ending = new AbortController();
    const deps = { url, clock, dialer, executor, software };
    const dialed = await dial(deps, ending.signal);
    const { connection, greeted } = greet(deps, dialed, () => {});
    // The line is known by dialing alone: hello and join go in one flight (W130).
    const line = new LineTimes();
    line.begin(dialed.roundTripMs);
    const overdue = clock.after(line.requestTimeoutMs, () => connection.close(lost()));
    try {
      const joining = connection.call("join", { secret, token, name });
      joining.catch(() => undefined);
      await greeted;
      const { device, isReadOnly, ...joined } = checkResult("join", await joining);
      if (joined.volume === volume) return { device, isReadOnly };
      throw new RunnelError(
        "Denied",
        "login",
        `This invite is to the volume ${joined.volume}, not ${volume}. Ask for a new one.`,
      );
    } catch (error) {
      if (!isRunnelError(error, "Unreachable") || tries === TRIES) throw error;
    } finally {
      overdue.cancel();
      connection.close(lost());
    }
  }
}

function lost(): RunnelError {
  return new RunnelError("Unreachable", "login", "The server does not answer. Try again with the same invite.");
}
