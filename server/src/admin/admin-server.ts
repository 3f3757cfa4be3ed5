// Answers the administrator, who is whoever may open the socket in the server's own folder.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { RunnelError, check, formatInvite, fromSystemError } from "@runnel/shared";
import { listenLocally } from "../host/local-socket.ts";
import type { RunningServer } from "../server-api.ts";
import type { ListedInvite } from "../auth/device-registry.ts";
import type { Device } from "../auth/registry-file.ts";
import type { Security } from "../auth/security.ts";
import { addressFor } from "./address.ts";
import {
  ADMIN_BYTES_MAX,
  ADMIN_REQUESTS,
  ADMIN_SOCKET,
  type AdminName,
  type AdminRequest,
  type AdminResult,
} from "./messages.ts";

export interface AdminDeps {
  server: Pick<RunningServer, "url" | "volumes" | "connected">;
  security: Pick<Security, "fingerprint" | "devices" | "invite" | "folder">;
  hostname: string;
}

/** Resolves to what ends it. */
export async function serveAdmin(deps: AdminDeps): Promise<() => Promise<void>> {
  const http = createServer((request, response) => {
    answer(deps, request).then(
      (result) => reply(response, 200, result),
      (error: unknown) => {
        const { kind, operation, message } = fromSystemError(error, "administer");
        reply(response, kind === "Invalid" ? 400 : 409, { error: { kind, operation, message } });
      },
    );
  });
  return listenLocally(http, deps.security.folder, ADMIN_SOCKET);
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  response.end(JSON.stringify(body));
}

async function answer(deps: AdminDeps, request: IncomingMessage): Promise<object> {
  const name = (request.url ?? "").slice(1);
  if (request.method !== "POST" || !Object.hasOwn(ADMIN_REQUESTS, name)) throw invalid("There is no such request.");
  const body = await read(request);
  const { devices } = deps.security;
  switch (name as AdminName) {
    case "invite":
      return invite(deps, check(ADMIN_REQUESTS.invite, body, name));
    case "devices":
      return { devices: devices.list().map((device) => shown(deps, device)) } satisfies AdminResult<"devices">;
    case "revoke": {
      const { device } = check(ADMIN_REQUESTS.revoke, body, name);
      return { revoked: shown(deps, await devices.revoke(device)) } satisfies AdminResult<"revoke">;
    }
    case "right":
      return setRight(deps, check(ADMIN_REQUESTS.right, body, name));
    case "invites":
      return { invites: devices.listInvites().map(shownInvite) } satisfies AdminResult<"invites">;
    case "withdraw": {
      const asked = check(ADMIN_REQUESTS.withdraw, body, name);
      return { withdrawn: shownInvite(await devices.withdraw(asked.invite)) } satisfies AdminResult<"withdraw">;
    }
  }
}

async function invite(deps: AdminDeps, asked: AdminRequest<"invite">): Promise<AdminResult<"invite">> {
  const { server, security, hostname } = deps;
  const { volume, isReadOnly, person, lastsMs } = asked;
  mustBeServed(server, volume, "invite");
  const address = addressFor(server.url, asked.address, hostname);
  const { secret, untilMs } = await security.invite({ volume, right: isReadOnly ? "read" : "write", person, lastsMs });
  const fingerprint = security.fingerprint === undefined ? {} : { fingerprint: security.fingerprint };
  const text = formatInvite({ place: address, volume, secret, ...fingerprint });
  return { invite: text, volume, isReadOnly, address, untilMs };
}

/** A right on a volume that is not served any more can still be taken away. */
async function setRight(deps: AdminDeps, asked: AdminRequest<"right">): Promise<AdminResult<"right">> {
  const { device, volume, right } = asked;
  if (right !== "none") mustBeServed(deps.server, volume, "right");
  return {
    device: shown(deps, await deps.security.devices.setRight(device, volume, right === "none" ? undefined : right)),
  };
}

function mustBeServed({ volumes }: AdminDeps["server"], volume: string, operation: string): void {
  if (volumes.some(({ name }) => name === volume)) return;
  const names = volumes.map(({ name }) => name).join(", ");
  throw new RunnelError("NotFound", operation, `The server has no volume ${volume}. It has: ${names}.`);
}

function shownInvite({ right, usedBy, ...rest }: ListedInvite): AdminResult<"withdraw">["withdrawn"] {
  return { ...rest, isReadOnly: right === "read", usedBy: usedBy ?? null };
}

function shown({ server }: AdminDeps, device: Device): AdminResult<"revoke">["revoked"] {
  const { id, name, person, grants, createdMs, revokedMs = null } = device;
  const volumes = grants.map(({ volume, right }) => ({ name: volume, isReadOnly: right === "read" }));
  return { id, name, person, volumes, createdMs, revokedMs, isConnected: server.connected(id) };
}

async function read(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > ADMIN_BYTES_MAX) throw invalid("The request is too long.");
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch (cause) {
    throw invalid("The request is not JSON.", cause);
  }
}

function invalid(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Invalid", "administer", sentence, { cause });
}
