// Records in the audit log whom a connection is let in as, and what it is refused. A client can cause any number of
// these, so they are noted; only that an invite was used is durable before it is answered.
import type { RequestOf, RunnelError } from "@runnel/shared";
import { fromSystemError, isRunnelError } from "@runnel/shared";
import type { Actor, AuditAct, NewEntry } from "../audit/audit-entry.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Device } from "../auth/registry-file.ts";
import type { DeviceRegistry, Joined } from "../auth/device-registry.ts";
import type { Handshake } from "./handshake.ts";

export interface ConnectionAuditDeps {
  /** Absent where nobody is told apart. */
  audit: Pick<AuditLog, "note" | "record"> | undefined;
  devices: DeviceRegistry | undefined;
  address: string;
  handshake(): Pick<Handshake, "device" | "isAuthenticated">;
}

export class ConnectionAudit {
  readonly #deps: ConnectionAuditDeps;

  constructor(deps: ConnectionAuditDeps) {
    this.#deps = deps;
  }

  /** Records a login, also one that is refused; that of a connection without a token is the join that comes next. */
  async hello({ token }: RequestOf<"hello">, work: () => Promise<void>): Promise<void> {
    await this.#noteFailure("login", "", work, token);
    if (this.#deps.handshake().isAuthenticated) this.#note("login", "", undefined);
  }

  join({ token }: RequestOf<"join">, work: () => Promise<void>): Promise<void> {
    return this.#noteFailure("join", "", work, token);
  }

  /** The invite's use is on stable storage when this resolves. That its device asked again is only noted. */
  async joined({ device, volume, right, invite, isAgain }: Joined): Promise<void> {
    const { audit, address } = this.#deps;
    const detail = `Invite ${invite}, which gives the right to ${right}.`;
    const entry: NewEntry = { who: deviceActor(device, address), act: "join", object: volume, result: "done", detail };
    if (isAgain) audit?.note(entry);
    else await audit?.record(entry);
  }

  /** `work` says when it is attached; what fails from then on is no refusal. */
  async attach(volume: string, work: (attached: () => void) => Promise<void>): Promise<void> {
    let isAttached = false;
    const attached = (): void => {
      isAttached = true;
      this.#note("attach", volume, undefined);
    };
    try {
      await work(attached);
    } catch (error) {
      if (!isAttached) this.#note("attach", volume, fromSystemError(error, "attach"));
      throw error;
    }
  }

  /** Records that a request was refused. */
  refused(operation: string, volume: string, error: unknown): void {
    const { kind } = fromSystemError(error, operation);
    this.#deps.audit?.note({ who: this.#who(), act: "request", object: volume, result: kind, detail: `${operation}.` });
  }

  /** Records that a connection ended since it broke the rules of the protocol. */
  closed(error: RunnelError): void {
    if (isRunnelError(error, "Invalid", "TooLarge")) this.#note("cutOff", "", error);
  }

  async #noteFailure(act: AuditAct, object: string, work: () => Promise<void>, token?: string): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The token of a revoked device says whose it was.
      const isRevoked = token !== undefined && isRunnelError(error, "Revoked");
      const device = isRevoked ? this.#deps.devices?.find(token) : undefined;
      this.#note(act, object, fromSystemError(error, act), device);
      throw error;
    }
  }

  #note(act: AuditAct, object: string, error: RunnelError | undefined, device?: Device): void {
    const { audit, address } = this.#deps;
    const who = device === undefined ? this.#who() : deviceActor(device, address);
    // Whoever sends on after a refused login is told so once more: the login says it.
    if (act === "attach" && who.kind === "unauthenticated" && error?.kind === "Invalid") return;
    // An object that is asked for by nobody known says nothing.
    const known = who.kind === "unauthenticated" ? "" : object;
    audit?.note({ who, act, object: known, result: error?.kind ?? "done", detail: error?.message ?? "" });
  }

  #who(): Actor {
    const { handshake, address } = this.#deps;
    const { device, isAuthenticated } = handshake();
    if (device !== undefined) return deviceActor(device, address);
    return { kind: isAuthenticated ? "owner" : "unauthenticated", id: "", name: "", person: "", address };
  }
}

function deviceActor({ id, name, person }: Device, address: string): Actor {
  return { kind: "device", id, name, person, address };
}
