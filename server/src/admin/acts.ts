// Acts of an administrator, whichever way they are asked for: over the socket (admin-server.ts) or in the console. Each
// is in the audit log before it is answered; a change is on stable storage there [F183].
import { RunnelError, formatInvite } from "@runnel/shared";
import type { z } from "zod";
import { CSV_HEADER, csvRows } from "../audit/audit-csv.ts";
import type { Actor } from "../audit/audit-entry.ts";
import type { DeviceRegistry, ListedInvite } from "../auth/device-registry.ts";
import type { Device } from "../auth/registry-file.ts";
import type { Security } from "../auth/security.ts";
import type { RunningServer } from "../server-api.ts";
import type { Opener } from "../volume/openers.ts";
import { addressFor } from "./address.ts";
import { ADMIN_REQUESTS, OPENERS_MAX, type ActName, type AdminRequest, type AdminResult } from "./messages.ts";

export interface ActDeps {
  server: Pick<RunningServer, "url" | "volumes" | "connected" | "openers">;
  security: Pick<Security, "fingerprint" | "devices" | "invite" | "audit">;
  hostname: string;
}

/** A request whose form was checked. */
type Asked<Name extends ActName> = z.output<(typeof ADMIN_REQUESTS)[Name]>;

/** Does what is asked for, for whoever may: that is judged before. */
export const ACTS: {
  [Name in ActName]: (deps: ActDeps, who: Actor, asked: Asked<Name>) => Promise<AdminResult<Name>>;
} = {
  async invite(deps, who, asked) {
    const made = await deps.security.audit.perform(
      { who, act: "invite", object: asked.volume },
      () => invite(deps, asked),
      ({ id, result }) => ({ detail: `${describeInvite(id, asked)} Reached by ${result.address}.` }),
    );
    return made.result;
  },

  async revoke(deps, who, { device }) {
    const { audit, devices } = deps.security;
    const act = { who, act: "revoke", object: deviceNamed(deps, device) } as const;
    return { revoked: listedDevice(deps, await audit.perform(act, () => devices.revoke(device))) };
  },

  async right(deps, who, asked) {
    const { device, volume, right } = asked;
    const before = rightsOf(deps, asked);
    const act = { who, act: "right", object: deviceNamed(deps, device), detail: `${volume}: ${right}.` } as const;
    const changed = await deps.security.audit.perform(
      act,
      () => setRight(deps, asked),
      () => ({ detail: `${volume}: ${before} → ${right}.` }),
    );
    return { device: changed };
  },

  async withdraw({ security }, who, asked) {
    const withdrawn = await security.audit.perform(
      { who, act: "withdraw", object: asked.invite },
      () => security.devices.withdraw(asked.invite),
      ({ id, volume, right, person }) => ({
        object: volume,
        detail: describeInvite(id, { isReadOnly: right === "read", person }),
      }),
    );
    return { withdrawn: shownInvite(withdrawn) };
  },

  async devices(deps, who) {
    deps.security.audit.note({ who, act: "devices", result: "done" });
    return { devices: deps.security.devices.list().map((device) => listedDevice(deps, device)) };
  },

  async invites({ security }, who) {
    security.audit.note({ who, act: "invites", result: "done" });
    return { invites: security.devices.listInvites().map(shownInvite) };
  },

  async openers({ server, security }, who, { volume, path = "" }) {
    const act = { who, act: "openers", object: volume } as const;
    const all = await security.audit.observe(act, () => server.openers(volume, path));
    const openers = all.slice(0, OPENERS_MAX).map((opener) => shownOpener(security.devices, opener));
    return { openers, total: all.length };
  },

  async audit({ security }, who, asked) {
    return security.audit.read(who, asked);
  },

  async auditCsv({ security }, who, asked) {
    const page = await security.audit.read(who, asked);
    const csv = (asked.after === undefined ? CSV_HEADER : "") + csvRows(page.entries);
    return { csv, count: page.entries.length, after: page.after };
  },
};

function describeInvite(id: string, { isReadOnly, person }: { isReadOnly: boolean; person: string }): string {
  return `Invite ${id}${person === "" ? "" : ` for ${person}`}, with the right to ${isReadOnly ? "read" : "write"}.`;
}

/** Returns name and id of a device that is named by one of them; what was typed when there is not just one. */
function deviceNamed({ security }: ActDeps, asked: string): string {
  const found = devicesNamed(security.devices, asked);
  return found.length === 1 ? `${found[0]?.name} (${found[0]?.id})` : asked;
}

function rightsOf({ security }: ActDeps, { device, volume }: AdminRequest<"right">): string {
  const [found] = devicesNamed(security.devices, device);
  return found?.grants.find((grant) => grant.volume === volume)?.right ?? "none";
}

function devicesNamed(devices: DeviceRegistry, asked: string): Device[] {
  const current = devices.list().filter(({ revokedMs }) => revokedMs === undefined);
  return current.filter(({ id, name }) => id === asked || name === asked);
}

async function invite(
  deps: ActDeps,
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
  deps: ActDeps,
  { device, volume, right }: AdminRequest<"right">,
): Promise<AdminResult<"right">["device"]> {
  if (right !== "none") mustBeServed(deps.server, volume, "right");
  return listedDevice(deps, await deps.security.devices.setRight(device, volume, right === "none" ? undefined : right));
}

export function mustBeServed({ volumes }: ActDeps["server"], volume: string, operation: string): void {
  if (volumes.some(({ name }) => name === volume)) return;
  const names = volumes.map(({ name }) => name).join(", ");
  throw new RunnelError("NotFound", operation, `The server has no volume ${volume}. It has: ${names}.`);
}

function shownInvite({ right, usedBy, ...rest }: ListedInvite): AdminResult<"withdraw">["withdrawn"] {
  return { ...rest, isReadOnly: right === "read", usedBy: usedBy ?? null };
}

export function listedDevice({ server }: ActDeps, device: Device): AdminResult<"revoke">["revoked"] {
  const { id, name, person, grants, createdMs, revokedMs = null, seenMs = null } = device;
  const volumes = grants.map(({ volume, right }) => ({ name: volume, isReadOnly: right === "read" }));
  return { id, name, person, volumes, createdMs, revokedMs, seenMs, isConnected: server.connected(id) };
}

function shownOpener(
  devices: DeviceRegistry,
  { device, sinceMs, folders, ...rest }: Opener,
): AdminResult<"openers">["openers"][number] {
  const name = devices.list().find(({ id }) => id === device)?.name ?? "";
  return { device, name, sinceMs: sinceMs === 0 ? null : sinceMs, folders: folders ?? null, ...rest };
}
