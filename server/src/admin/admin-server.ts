// Answers the administrator, who is whoever may open the socket in the server's own folder.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { RunnelError, check, formatInvite, fromSystemError } from "@runnel/shared";
import { listenLocally } from "../host/local-socket.ts";
import type { RunningServer } from "../server-api.ts";
import type { Listed } from "../auth/access.ts";
import type { Guest, Guests } from "../auth/security.ts";
import { addressFor } from "./address.ts";
import {
  ADMIN_BYTES_MAX,
  ADMIN_REQUESTS,
  ADMIN_SOCKET,
  type AdminName,
  type AdminRequest,
  type AdminResult,
} from "./messages.ts";

export interface AdminParts {
  server: Pick<RunningServer, "url" | "volumes" | "connected">;
  guests: Guests;
  hostname: string;
  /** The server's own. */
  folder: string;
}

/** Resolves to what ends it. */
export async function serveAdmin(parts: AdminParts): Promise<() => Promise<void>> {
  const http = createServer((request, response) => {
    answer(parts, request).then(
      (result) => reply(response, 200, result),
      (error: unknown) => {
        const { kind, operation, message } = fromSystemError(error, "administer");
        reply(response, kind === "Invalid" ? 400 : 409, { error: { kind, operation, message } });
      },
    );
  });
  return listenLocally(http, parts.folder, ADMIN_SOCKET);
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  response.end(JSON.stringify(body));
}

async function answer(parts: AdminParts, request: IncomingMessage): Promise<object> {
  const name = (request.url ?? "").slice(1);
  if (request.method !== "POST" || !Object.hasOwn(ADMIN_REQUESTS, name)) throw invalid("There is no such request.");
  const body = await read(request);
  switch (name as AdminName) {
    case "invite":
      return invite(parts, check(ADMIN_REQUESTS.invite, body, name));
    case "devices":
      return { devices: parts.guests.list().map((guest) => shown(parts, guest)) } satisfies AdminResult<"devices">;
    case "revoke": {
      const { device } = check(ADMIN_REQUESTS.revoke, body, name);
      return { revoked: shown(parts, await parts.guests.revoke(device)) } satisfies AdminResult<"revoke">;
    }
    case "right":
      return setRight(parts, check(ADMIN_REQUESTS.right, body, name));
    case "invites":
      return { invites: parts.guests.listInvites().map(shownInvite) } satisfies AdminResult<"invites">;
    case "withdraw": {
      const asked = check(ADMIN_REQUESTS.withdraw, body, name);
      return { withdrawn: shownInvite(await parts.guests.withdraw(asked.invite)) } satisfies AdminResult<"withdraw">;
    }
  }
}

async function invite(parts: AdminParts, asked: AdminRequest<"invite">): Promise<AdminResult<"invite">> {
  const { server, guests, hostname } = parts;
  const { volume, isReadOnly, person, lastsMs } = asked;
  mustBeServed(server, volume, "invite");
  const address = addressFor(server.url, asked.address, hostname);
  const { secret, untilMs } = await guests.invite({ volume, right: isReadOnly ? "read" : "write", person, lastsMs });
  const fingerprint = guests.fingerprint === undefined ? {} : { fingerprint: guests.fingerprint };
  const text = formatInvite({ place: address, volume, secret, ...fingerprint });
  return { invite: text, volume, isReadOnly, address, untilMs };
}

/** A right on a volume that is not served any more can still be taken away. */
async function setRight(parts: AdminParts, asked: AdminRequest<"right">): Promise<AdminResult<"right">> {
  const { device, volume, right } = asked;
  if (right !== "none") mustBeServed(parts.server, volume, "right");
  return { device: shown(parts, await parts.guests.setRight(device, volume, right === "none" ? undefined : right)) };
}

function mustBeServed({ volumes }: AdminParts["server"], volume: string, operation: string): void {
  if (volumes.some(({ name }) => name === volume)) return;
  const names = volumes.map(({ name }) => name).join(", ");
  throw new RunnelError("NotFound", operation, `The server has no volume ${volume}. It has: ${names}.`);
}

function shownInvite({ right, usedBy, ...rest }: Listed): AdminResult<"withdraw">["withdrawn"] {
  return { ...rest, isReadOnly: right === "read", usedBy: usedBy ?? null };
}

function shown({ server }: AdminParts, guest: Guest): AdminResult<"revoke">["revoked"] {
  const { id, name, person, grants, createdMs, revokedMs = null } = guest;
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
