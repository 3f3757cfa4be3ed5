// Answers the administrator, who is whoever may open the socket in the server's own folder.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { RunnelError, check, formatInvite, fromSystemError, label } from "@runnel/shared";
import type { z } from "zod";
import { CSV_HEADER, csvRows } from "../audit/audit-csv.ts";
import type { Actor } from "../audit/audit-entry.ts";
import { listenLocally } from "../host/local-socket.ts";
import type { RunningServer } from "../server-api.ts";
import type { DeviceRegistry, ListedInvite } from "../auth/device-registry.ts";
import type { Device } from "../auth/registry-file.ts";
import type { Security } from "../auth/security.ts";
import type { Opener } from "../volume/openers.ts";
import { addressFor } from "./address.ts";
import {
  ADMIN_BYTES_MAX,
  ADMIN_REQUESTS,
  ADMIN_SOCKET,
  ADMIN_USER_HEADER,
  OPENERS_MAX,
  type AdminName,
  type AdminRequest,
  type AdminResult,
} from "./messages.ts";

export interface AdminDeps {
  server: Pick<RunningServer, "url" | "volumes" | "connected" | "openers">;
  security: Pick<Security, "fingerprint" | "devices" | "invite" | "audit" | "folder">;
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
  const who = administrator(request);
  let asked: Asked;
  try {
    asked = await checked(request);
  } catch (error) {
    const { kind, message } = fromSystemError(error, "administer");
    deps.security.audit.note({ who, act: "administer", result: kind, detail: message });
    throw error;
  }
  return CHANGES.has(asked.name) ? change(deps, who, asked) : read(deps, who, asked);
}

/** A request whose form was checked, by its name. */
type Asked = { [Name in AdminName]: { name: Name; body: z.output<(typeof ADMIN_REQUESTS)[Name]> } }[AdminName];

const CHANGES: ReadonlySet<AdminName> = new Set(["invite", "revoke", "right", "withdraw"]);

async function checked(request: IncomingMessage): Promise<Asked> {
  const name = (request.url ?? "").slice(1);
  if (request.method !== "POST" || !Object.hasOwn(ADMIN_REQUESTS, name)) throw invalid("There is no such request.");
  return { name, body: check(ADMIN_REQUESTS[name as AdminName], await bodyOf(request), name) } as Asked;
}

/** Does what changes something. It is in the audit log, on stable storage, when this resolves [F183]. */
async function change(deps: AdminDeps, who: Actor, { name, body }: Asked): Promise<object> {
  const { devices, audit } = deps.security;
  switch (name) {
    case "invite": {
      const made = await audit.perform(
        { who, act: name, object: body.volume },
        () => invite(deps, body),
        ({ id, result }) => ({ detail: `${describeInvite(id, body)} Reached by ${result.address}.` }),
      );
      return made.result;
    }
    case "revoke": {
      const revoked = await audit.perform({ who, act: name, object: deviceNamed(deps, body.device) }, () =>
        devices.revoke(body.device),
      );
      return { revoked: shown(deps, revoked) } satisfies AdminResult<"revoke">;
    }
    case "right": {
      const before = rightsOf(deps, body);
      const act = { who, act: name, object: deviceNamed(deps, body.device), detail: `${body.volume}: ${body.right}.` };
      const device = await audit.perform(
        act,
        () => setRight(deps, body),
        () => ({ detail: `${body.volume}: ${before} → ${body.right}.` }),
      );
      return { device } satisfies AdminResult<"right">;
    }
    case "withdraw": {
      const withdrawn = await audit.perform(
        { who, act: name, object: body.invite },
        () => devices.withdraw(body.invite),
        ({ id, volume, right, person }) => ({
          object: volume,
          detail: describeInvite(id, { isReadOnly: right === "read", person }),
        }),
      );
      return { withdrawn: shownInvite(withdrawn) } satisfies AdminResult<"withdraw">;
    }
    default:
      throw invalid("There is no such request.");
  }
}

/** Answers what changes nothing; that it was asked for is noted. */
async function read(deps: AdminDeps, who: Actor, { name, body }: Asked): Promise<object> {
  const { devices, audit } = deps.security;
  switch (name) {
    case "devices":
      audit.note({ who, act: name, result: "done" });
      return { devices: devices.list().map((device) => shown(deps, device)) } satisfies AdminResult<"devices">;
    case "invites":
      audit.note({ who, act: name, result: "done" });
      return { invites: devices.listInvites().map(shownInvite) } satisfies AdminResult<"invites">;
    case "openers": {
      const { volume, path = "" } = body;
      const all = await deps.server.openers(volume, path);
      audit.note({ who, act: name, object: volume, result: "done" });
      const openers = all.slice(0, OPENERS_MAX).map((opener) => shownOpener(devices, opener));
      return { openers, total: all.length } satisfies AdminResult<"openers">;
    }
    case "audit":
    case "auditCsv": {
      // A reader who goes on with the next page has been noted.
      if (body.after === undefined && body.above === undefined) audit.note({ who, act: "audit", result: "done" });
      const page = await audit.page(body);
      if (name === "audit") return page satisfies AdminResult<"audit">;
      const csv = (body.after === undefined ? CSV_HEADER : "") + csvRows(page.entries);
      return { csv, count: page.entries.length, after: page.after } satisfies AdminResult<"auditCsv">;
    }
    default:
      throw invalid("There is no such request.");
  }
}

function administrator({ headers }: IncomingMessage): Actor {
  return { kind: "admin", id: "", name: userName(headers[ADMIN_USER_HEADER]), person: "", address: "" };
}

/** Returns "" for what is no name. */
function userName(header: string | string[] | undefined): string {
  try {
    return label.safeParse(decodeURIComponent(String(header ?? ""))).data ?? "";
  } catch {
    return "";
  }
}

function describeInvite(id: string, { isReadOnly, person }: { isReadOnly: boolean; person: string }): string {
  return `Invite ${id}${person === "" ? "" : ` for ${person}`}, with the right to ${isReadOnly ? "read" : "write"}.`;
}

/** Returns name and id of a device that is named by one of them; what was typed when there is not just one. */
function deviceNamed({ security }: AdminDeps, asked: string): string {
  const found = devicesNamed(security.devices, asked);
  return found.length === 1 ? `${found[0]?.name} (${found[0]?.id})` : asked;
}

function rightsOf({ security }: AdminDeps, { device, volume }: AdminRequest<"right">): string {
  const [found] = devicesNamed(security.devices, device);
  return found?.grants.find((grant) => grant.volume === volume)?.right ?? "none";
}

function devicesNamed(devices: DeviceRegistry, asked: string): Device[] {
  const current = devices.list().filter(({ revokedMs }) => revokedMs === undefined);
  return current.filter(({ id, name }) => id === asked || name === asked);
}

async function invite(
  deps: AdminDeps,
  asked: AdminRequest<"invite">,
): Promise<{ id: string; result: AdminResult<"invite"> }> {
  const { server, security, hostname } = deps;
  const { volume, isReadOnly, person, lastsMs } = asked;
  mustBeServed(server, volume, "invite");
  const address = addressFor(server.url, asked.address, hostname);
  const right = isReadOnly ? "read" : "write";
  const { id, secret, untilMs } = await security.invite({ volume, right, person, lastsMs });
  const fingerprint = security.fingerprint === undefined ? {} : { fingerprint: security.fingerprint };
  const text = formatInvite({ place: address, volume, secret, ...fingerprint });
  return { id, result: { invite: text, volume, isReadOnly, address, untilMs } };
}

/** A right on a volume that is not served any more can still be taken away. */
async function setRight(
  deps: AdminDeps,
  { device, volume, right }: AdminRequest<"right">,
): Promise<AdminResult<"right">["device"]> {
  if (right !== "none") mustBeServed(deps.server, volume, "right");
  return shown(deps, await deps.security.devices.setRight(device, volume, right === "none" ? undefined : right));
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

function shownOpener(
  devices: DeviceRegistry,
  { device, sinceMs, folders, ...rest }: Opener,
): AdminResult<"openers">["openers"][number] {
  const name = devices.list().find(({ id }) => id === device)?.name ?? "";
  return { device, name, sinceMs: sinceMs === 0 ? null : sinceMs, folders: folders ?? null, ...rest };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
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
