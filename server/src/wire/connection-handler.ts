// A connection of a client: hello first, then attach, then requests on an attachment. Every request is checked here,
// once, and handed to its handler.
import type {
  Channel,
  Clock,
  Executor,
  FailedTries,
  FailedTriesByAddress,
  Link,
  RequestName,
  RequestOf,
  VolumeRequestName,
} from "@runnel/shared";
import {
  Connection,
  LIMITS,
  REQUESTS,
  RunnelError,
  checkRequest,
  hasBulkFrom,
  isRequestName,
  isRunnelError,
  isVolumeRequest,
  wallMs,
} from "@runnel/shared";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Device } from "../auth/registry-file.ts";
import { type DeviceRegistry, revoked } from "../auth/device-registry.ts";
import type { Carried } from "../live/traffic.ts";
import type { Volume } from "../volume/volume.ts";
import type { Attachment } from "./attachment.ts";
import { AnswerTurns } from "./answer-turns.ts";
import { Attachments } from "./attachments.ts";
import { ConnectionAudit } from "./connection-audit.ts";
import { DevicePlaces, type DeviceShare, type Sending } from "./device-share.ts";
import { Handshake } from "./handshake.ts";
import { serveRequest } from "./requests/index.ts";

/** Requests that come without an attachment. */
type ConnectionRequestName = Exclude<RequestName, VolumeRequestName>;

export interface HandlerDeps {
  link: Link;
  clock: Clock;
  executor: Executor;
  /** Returns undefined when there is none of the name. @throws Unavailable, Busy: why it cannot be attached now. */
  volume(name: string): Volume | undefined;
  devices: DeviceRegistry | undefined;
  failedLogins: FailedTriesByAddress;
  /** Counts by device how often connections were closed for what they said. */
  cutOffs: FailedTries;
  /** Counts by device how often it has attached. */
  attaches: FailedTries;
  /** Left out where nothing is recorded. */
  audit?: Pick<AuditLog, "note" | "record"> | undefined;
  /** "Runnel 0.1.0" */
  software: string;
  warn(message: string, error?: unknown): void;
  /** Said of a client that was cut off; left out: as a warning. */
  cutOff?(message: string): void;
  /** The connection is authenticated now. */
  authenticated?(): void;
  /** Returns the share of the connection's device; absent when each connection is alone. */
  shareOf?(device: Device): DeviceShare;
  /**
   * All connections of its device, this one too, and those that ended with something still under way; left out: it is
   * alone.
   */
  ofDevice?(): ReadonlySet<ConnectionHandler>;
  ended(): void;
  /** Nothing that it asked for is under way any more. */
  gone?(): void;
}

/** A listing pauses while more than this waits to be sent, and so does what is answered whole. */
const DRAIN_BYTES = 256 * 1024;
const DRAIN_POLL_MS = 5;
/** The latter also while more than this waits to be sent on all connections of the device. */
const DEVICE_DRAIN_BYTES = 4 * 1024 * 1024;

let lastId = 0;

export class ConnectionHandler {
  /** Later ones have greater ones. */
  readonly id = ++lastId;
  /** Wall clock, milliseconds. */
  readonly sinceMs: number;
  private readonly deps: HandlerDeps;
  private readonly connection: Connection;
  private readonly attachments: Attachments;
  private readonly handshake: Handshake;
  private readonly audit: ConnectionAudit;
  private readonly answers: AnswerTurns;
  /** Places of a connection of no device that is known by name. */
  private ownPlaces: DevicePlaces | undefined;
  private draining: Promise<void> | undefined;
  /** Requests. */
  private underWay = 0;

  constructor(deps: HandlerDeps) {
    this.deps = deps;
    this.sinceMs = wallMs(deps.clock);
    this.audit = new ConnectionAudit({
      audit: deps.audit,
      devices: deps.devices,
      address: deps.link.remoteAddress,
      handshake: () => this.handshake,
    });
    this.handshake = new Handshake({
      ...deps,
      joined: (joined) => this.audit.joined(joined),
      admitted: () => {
        deps.authenticated?.();
        this.connection.admit();
      },
      overdue: (error) => this.close(error),
    });
    const reading = {
      isClosed: () => !this.connection.isOpen,
      isRead: () => this.isRead,
      whenRead: () => this.until(() => this.isRead),
    };
    this.answers = new AnswerTurns(reading, () => this.places.answers);
    this.attachments = new Attachments({
      ...deps,
      handshake: this.handshake,
      answers: this.answers,
      ofDevice: () => [...this.device].reduce((sum, each) => sum + each.attached.length, 0),
      isFarBehind: () => !this.isReadTo(LIMITS.unreadFeedBytes),
      failures: () => this.places.failures,
      mustBeRead: () => this.mustBeRead(),
      attaching: ({ volume, instance }) => {
        for (const each of this.device) if (each !== this) each.makeWay(volume, instance);
      },
    });
    this.connection = new Connection({
      link: deps.link,
      isClient: false,
      isUnauthenticated: true,
      clock: deps.clock,
      executor: deps.executor,
      turns: {
        tryTake: (bytes) => this.share?.turns.tryTake(bytes) ?? true,
        take: async (bytes) => this.share?.turns.take(bytes),
      },
      mayHold: (bytes) => this.isWithin(bytes, LIMITS.heldBytes, LIMITS.deviceHeldBytes, (each) => each.heldBytes),
      mayHoldBulk: (bytes) =>
        this.isWithin(bytes, LIMITS.heldBulkBytes, LIMITS.deviceHeldBulkBytes, (each) => each.heldBulkBytes),
      takesBulk: (operation) => hasBulkFrom("client", operation),
      opened: (channel, operation, request) => this.whileUnderWay(channel, this.opened(channel, operation, request)),
      closed: (error) => this.closed(error),
    });
  }

  close(error: RunnelError): void {
    this.connection.close(error);
  }

  /** Device of the connection; undefined before it is known, and where nobody asks. */
  get deviceId(): string | undefined {
    return this.handshake.device?.id;
  }

  get isAuthenticated(): boolean {
    return this.handshake.isAuthenticated;
  }

  /** The other end's address. */
  get address(): string {
    return this.deps.link.remoteAddress;
  }

  /** Name that the client calls itself. */
  get who(): string {
    return this.handshake.who;
  }

  /** Bytes to and from the client, headers of the WebSocket included. */
  get carried(): Carried {
    const { sentBytes, receivedBytes } = this.deps.link;
    return { sentBytes, receivedBytes };
  }

  /** Count of requests that are not answered yet; those that carry a feed go on and are not among them. */
  get requestsWaiting(): number {
    return Math.max(0, this.underWay - this.attached.length);
  }

  get attached(): readonly Attachment[] {
    return this.attachments.list();
  }

  /** Features that the client offers: none before its hello [W178]. */
  get features(): readonly string[] {
    return this.handshake.features;
  }

  /** It is one of that device's, and has the volume attached. */
  uses(device: string, volume: string): boolean {
    return this.deviceId === device && this.attachments.uses(volume);
  }

  /** Ends the connection, since its device has lost its access. */
  revoke(): void {
    this.close(revoked());
  }

  private closed(error: RunnelError): void {
    this.handshake.end();
    this.audit.closed(error);
    const { warn, cutOff = warn } = this.deps;
    if (isRunnelError(error, "Invalid", "TooLarge")) {
      cutOff(`A client was cut off: ${error.message}`);
      if (this.deviceId !== undefined) this.deps.cutOffs.failed(this.deviceId);
    }
    this.attachments.lost();
    this.deps.ended();
    if (this.underWay === 0) this.deps.gone?.();
  }

  private async whileUnderWay(channel: Channel, work: Promise<void>): Promise<void> {
    this.underWay++;
    try {
      await work;
    } finally {
      channel.readNoMore();
      if (--this.underWay === 0 && !this.connection.isOpen) this.deps.gone?.();
    }
  }

  private async opened(channel: Channel, operation: string, message: unknown): Promise<void> {
    this.mustBeRead();
    if (!isRequestName(operation))
      throw new RunnelError("Unsupported", operation.slice(0, 50), "This server does not know the operation.");
    if (!isVolumeRequest(operation)) return this.serveUnattached(operation, message, channel);
    const request = checkRequest(operation, message);
    try {
      this.handshake.requireAuthenticated(operation);
    } catch (error) {
      this.audit.refused(operation, "", error);
      throw error;
    }
    return this.serve(operation, request, channel);
  }

  private readonly unattached: {
    readonly [Name in ConnectionRequestName]: (channel: Channel, request: RequestOf<Name>) => Promise<void>;
  } = {
    hello: (channel, request) => this.audit.hello(request, async () => this.handshake.hello(channel, request)),
    join: (channel, request) => this.audit.join(request, () => this.handshake.join(channel, request)),
    attach: (channel, request) =>
      this.audit.attach(request.volume, (attached) => this.attachments.attach(channel, request, attached)),
  };

  private serveUnattached<Name extends ConnectionRequestName>(
    name: Name,
    message: unknown,
    channel: Channel,
  ): Promise<void> {
    return this.unattached[name](channel, checkRequest(name, message));
  }

  private async serve<Name extends VolumeRequestName>(
    name: Name,
    request: RequestOf<Name>,
    channel: Channel,
  ): Promise<void> {
    const id = request.attachment;
    const attachment = this.attachments.named(id);
    // Always waited for, so that requests keep their order.
    await attachment.answered;
    using entry = attachment.gate.enter(name, request);
    if (entry.passed !== undefined) {
      await entry.passed;
      // The client may have been cut off meanwhile, its device revoked; one whose line broke asks again.
      channel.abort.signal.throwIfAborted();
    }
    const call = {
      attachment,
      volume: attachment.volume,
      channel,
      sending: this.sending,
      address: this.address,
      detach: () => this.attachments.detach(id),
    };
    const answer = (): Promise<void> => serveRequest(name, request, call);
    try {
      await (REQUESTS[name].isAnsweredWhole === true ? this.answers.take(answer) : answer());
    } catch (error) {
      // A request that failed while the attachment was ending failed for that reason.
      attachment.mustBeThere();
      if (attachment.right === "read" && isRunnelError(error, "ReadOnly"))
        this.audit.refused(name, attachment.volume.name, error);
      throw error;
    }
  }

  /**
   * Closes this connection when its client has attached again on another one: it has nothing more to keep from the
   * device.
   */
  private makeWay(volume: Volume, instance: string): void {
    if (!this.attachments.hasInstance(volume, instance)) return;
    this.close(new RunnelError("Busy", "attach", "The same client attached again."));
  }

  /** The volume cannot be served any more [W110]. */
  volumeEnded(volume: Volume, error: RunnelError): void {
    this.attachments.volumeEnded(volume, error);
  }

  private get device(): ReadonlySet<ConnectionHandler> {
    return this.deps.ofDevice?.() ?? new Set([this]);
  }

  /** Answers to a client that asks on without reading them are not kept for ever. */
  private mustBeRead(): void {
    if (this.isReadTo(LIMITS.unreadBytes)) return;
    const detail = { limit: LIMITS.unreadBytes, rule: "W163" };
    const error = new RunnelError("TooLarge", "answer", "The client asks on and does not read the answers.", {
      detail,
    });
    this.close(error);
    throw error;
  }

  /** Returns false when more than so much lies unread, or more than may of the device. */
  private isReadTo(bytes: number): boolean {
    return this.isWithin(this.unreadBytes, bytes, LIMITS.deviceUnreadBytes, (each) => each.unreadBytes);
  }

  private get heldBytes(): number {
    return this.connection.heldBytes;
  }

  private get heldBulkBytes(): number {
    return this.connection.heldBulkBytes;
  }

  /** Bulk is sent as it is acknowledged. */
  private get unreadBytes(): number {
    return this.waitingBytes - this.connection.unacknowledgedBytes;
  }

  /** Bytes that are still to be sent. */
  private get waitingBytes(): number {
    return this.connection.isOpen ? this.connection.link.bufferedBytes : 0;
  }

  /** A connection has its share of what its device has; one that uses little of it is let be whatever the others do. */
  private isWithin(
    bytes: number,
    most: number,
    mostOfDevice: number,
    ofEach: (handler: ConnectionHandler) => number,
  ): boolean {
    if (bytes > most) return false;
    const { device } = this;
    // Connections that have ended with something under way may be any number.
    if (bytes * LIMITS.deviceConnections <= mostOfDevice && device.size <= LIMITS.deviceConnections) return true;
    let all = 0;
    for (const each of device) all += ofEach(each);
    return all <= mostOfDevice;
  }

  private get share(): DeviceShare | undefined {
    const { device } = this.handshake;
    return device === undefined ? undefined : this.deps.shareOf?.(device);
  }

  private get places(): DevicePlaces {
    return this.share?.places ?? (this.ownPlaces ??= new DevicePlaces());
  }

  private get sending(): Sending {
    const { places, answers } = this;
    return {
      connection: this,
      places,
      drained: () => this.drained(),
      inTurn: (answer) => answers.take(answer),
    };
  }

  private get isDrained(): boolean {
    return !this.connection.isOpen || this.connection.link.bufferedBytes <= DRAIN_BYTES;
  }

  private async drained(): Promise<void> {
    if (this.isDrained) return;
    this.draining ??= this.until(() => this.isDrained).finally(() => (this.draining = undefined));
    await this.draining;
  }

  /** Tells whether earlier answers have been sent, as far as memory goes. */
  private get isRead(): boolean {
    if (!this.connection.isOpen) return true;
    return this.isWithin(this.waitingBytes, DRAIN_BYTES, DEVICE_DRAIN_BYTES, (each) => each.waitingBytes);
  }

  private async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.deps.clock.after(DRAIN_POLL_MS, resolve);
      });
    }
  }
}
