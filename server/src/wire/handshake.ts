// Finds out by hello and join who a connection belongs to. Until that is known it may say little, and not for long
// (W73).
// oxlint-disable-next-line no-restricted-imports -- of a few bytes
import { createHash } from "node:crypto";
import type {
  Channel,
  Clock,
  FailedTries,
  FailedTriesByAddress,
  Link,
  RequestOf,
  SentResultOf,
  Timer,
} from "@runnel/shared";
import {
  LIMITS,
  PROTOCOL_FEATURES,
  PROTOCOL_VERSION,
  RunnelError,
  SUPPLY_FEATURE,
  TIMING,
  isProof,
  isRunnelError,
} from "@runnel/shared";
import type { Device, Right } from "../auth/registry-file.ts";
import { type DeviceRegistry, type Joined, mustNotBeRevoked, rightOn } from "../auth/device-registry.ts";

export interface HandshakeDeps {
  link: Link;
  clock: Clock;
  /**
   * Undefined where there are no devices: who gets here may do everything, without TLS once it has proved to be of the
   * server's user.
   */
  devices: DeviceRegistry | undefined;
  failedLogins: FailedTriesByAddress;
  cutOffs: Pick<FailedTries, "waitMs">;
  /** Software of this server. */
  software: string;
  /** There are folders beside its volumes that uploads need not bring what they have [W210]. */
  hasSupply?: boolean;
  /** An invite was used; awaited before that is answered. */
  joined?(joined: Joined): Promise<void>;
  /** The connection is authenticated now. */
  admitted(): void;
  /** The login grace has passed. */
  overdue(error: RunnelError): void;
}

export class Handshake {
  /** Name that the client calls itself. */
  who = "";
  device: Device | undefined;
  /** Features that the client offers. */
  features: readonly string[] = [];
  private readonly deps: HandshakeDeps;
  private readonly timer: Timer;
  private hasGreeted = false;

  constructor(deps: HandshakeDeps) {
    this.deps = deps;
    deps.link.limit(LIMITS.unauthenticatedBytes);
    this.timer = deps.clock.after(TIMING.loginGraceMs, () =>
      deps.overdue(new RunnelError("Unreachable", "hello", "The connection did not say in time whose it is.")),
    );
  }

  get isAuthenticated(): boolean {
    return this.hasGreeted && (this.isOwner || this.device !== undefined);
  }

  end(): void {
    this.timer.cancel();
  }

  hello(channel: Channel, { protocol, software, token, proof, features }: RequestOf<"hello">): void {
    if (protocol !== PROTOCOL_VERSION) {
      throw new RunnelError(
        "Version",
        "hello",
        `This server speaks protocol ${PROTOCOL_VERSION}, the client ${protocol}: update the older one.`,
        { detail: { need: PROTOCOL_VERSION } },
      );
    }
    if (this.hasGreeted) throw invalid("hello", "hello comes once.");
    const { devices, link } = this.deps;
    if (link.ownerProof !== undefined && !isProof(proof ?? "", link.ownerProof)) throw notOwner();
    // A known token is let in whoever else fails from its address.
    const device = this.isOwner || token === undefined ? undefined : this.counted(() => devices?.deviceOf(token));
    if (device !== undefined) this.mustNotHaveToWait(device);
    this.device = device;
    this.hasGreeted = true;
    this.who = software;
    this.features = features;
    const answer: SentResultOf<"hello"> = {
      protocol: PROTOCOL_VERSION,
      software: this.deps.software,
      termMs: 0,
      features: [...PROTOCOL_FEATURES, ...(this.deps.hasSupply === true ? [SUPPLY_FEATURE] : [])],
    };
    channel.end(answer);
    this.admitIfAuthenticated();
  }

  async join(channel: Channel, request: RequestOf<"join">): Promise<void> {
    const { devices, failedLogins, link } = this.deps;
    if (!this.hasGreeted) throw notGreeted("join");
    if (devices === undefined || this.isOwner)
      throw new RunnelError("Unsupported", "join", "Who runs the server needs no invite.");
    // Attachments of a connection belong to one device.
    if (this.device !== undefined) throw alreadyOfDevice();
    const retryAfterMs = failedLogins.waitMs(link.remoteAddress);
    if (retryAfterMs > 0) throw tooOften(retryAfterMs);
    try {
      const joined = await devices.join(request);
      const { device, volume, right } = joined;
      await this.deps.joined?.(joined);
      devices.answered(joined);
      // Meanwhile somebody may have revoked it.
      mustNotBeRevoked(device);
      this.device = device;
      channel.end({ device: device.name, volume, isReadOnly: right === "read" });
      this.admitIfAuthenticated();
    } catch (error) {
      throw this.failed(error);
    }
  }

  /** @throws RunnelError Invalid before hello; Denied unless it is known whose the connection is. */
  requireAuthenticated(operation: string): void {
    if (!this.hasGreeted) throw notGreeted(operation);
    if (!this.isAuthenticated) {
      const sentence = "This device has not logged in at the server. Ask for an invite, then: runnel login INVITE.";
      throw new RunnelError("Denied", operation, sentence);
    }
  }

  /**
   * Returns the name by which the server knows an instance: the same name from another device is another instance
   * [W164].
   */
  instanceOf(named: string): string {
    if (this.device === undefined) return named;
    return createHash("sha256").update(`${this.device.id}/${named}`).digest("hex").slice(0, named.length);
  }

  /** Returns undefined when there is none, without telling whether the volume is there. */
  rightOn(volume: string): Right | undefined {
    if (this.isOwner) return "write";
    return this.device === undefined ? undefined : rightOn(this.device, volume);
  }

  /** The same whether it is there or not. */
  noVolume(volume: string): RunnelError {
    const whose = this.device === undefined ? "" : " for this device";
    const sentence = `The server has no volume "${volume}"${whose}. Check the last part of the address.`;
    return new RunnelError("NotFound", "attach", sentence);
  }

  /** @throws Busy when connections of the device were closed too often for what they said [W187]. */
  private mustNotHaveToWait({ id }: Device): void {
    const retryAfterMs = this.deps.cutOffs.waitMs(id);
    if (retryAfterMs === 0) return;
    const sentence = "This device said too often what no client may say. Try again in a minute.";
    throw new RunnelError("Busy", "hello", sentence, { detail: { retryAfterMs } });
  }

  /** Nothing is said on a link without TLS before it is proved. */
  private get isOwner(): boolean {
    return this.deps.devices === undefined || this.deps.link.ownerProof !== undefined;
  }

  private admitIfAuthenticated(): void {
    if (!this.isAuthenticated) return;
    this.timer.cancel();
    this.deps.link.limit(undefined);
    this.deps.admitted();
  }

  private counted<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.failed(error);
    }
  }

  /** Returns the error to report: a client that tries too often hears nothing of what was wrong. */
  private failed(error: unknown): unknown {
    if (!isRunnelError(error, "Denied")) return error;
    const { failedLogins, link } = this.deps;
    const retryAfterMs = failedLogins.waitMs(link.remoteAddress);
    failedLogins.failed(link.remoteAddress);
    return retryAfterMs > 0 ? tooOften(retryAfterMs) : error;
  }
}

function notOwner(): RunnelError {
  const sentence =
    "Without TLS the server is for programs of the user who runs it. Ask for an invite: runnel login INVITE.";
  return new RunnelError("Denied", "hello", sentence);
}

function tooOften(retryAfterMs: number): RunnelError {
  const sentence = "Too many logins from this address have failed. Try again in a minute.";
  return new RunnelError("Busy", "login", sentence, { detail: { retryAfterMs } });
}

function notGreeted(operation: string): RunnelError {
  return invalid(operation, "The first request of a connection is hello.");
}

function alreadyOfDevice(): RunnelError {
  return invalid("join", "The connection is a device's already.");
}

function invalid(operation: string, sentence: string): RunnelError {
  return new RunnelError("Invalid", operation, sentence, { detail: { rule: "W11" } });
}
