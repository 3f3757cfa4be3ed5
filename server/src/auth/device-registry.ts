// Device registry: invites become devices, a device has a token and rights on volumes, and loses both when it is
// revoked. A change holds at once; what is granted is durable before it is reported.
// oxlint-disable-next-line no-restricted-imports -- of one secret
import { createHash, randomBytes } from "node:crypto";
import type { Clock, DiskRoot, RequestOf } from "@runnel/shared";
import { LIMITS, RunnelError } from "@runnel/shared";
import { type Device, type Invite, type Right, readRegistry, writeRegistry } from "./registry-file.ts";

const DEVICE_ID_BYTES = 4;
const SECRET_BYTES = 16;
const INVITE_ID_DIGITS = 8;
/** Sightings of devices are written down so often, or with the next change. */
const SEEN_EVERY_MS = 10 * 60_000;
/** An invite that has run out is told apart from one that never was for so long. */
const REMEMBER_MS = 30 * 24 * 3_600_000;

export interface Invitation {
  volume: string;
  right: Right;
  person: string;
  lastsMs: number;
}

/** An invite, as an administrator sees it: `id` tells it from others and lets nobody in. */
export interface ListedInvite {
  id: string;
  volume: string;
  right: Right;
  person: string;
  untilMs: number;
  hasRunOut: boolean;
  /** The name of the device that used it. */
  usedBy: string | undefined;
}

export interface Joined {
  device: Device;
  volume: string;
  right: Right;
  /** Id of the invite that was used. */
  invite: string;
  /** It was answered before, since the start. */
  isAgain: boolean;
}

export class DeviceRegistry {
  private readonly root: DiskRoot;
  private readonly clock: Clock;
  private readonly byId = new Map<string, Device>();
  /** Ids of invites whose use was answered since the start. */
  private readonly answeredInvites = new Set<string>();
  /** Devices by the digest of the token, and invites by that of the secret. */
  private readonly byToken = new Map<string, Device>();
  private readonly invites = new Map<string, Invite>();
  private saving: Promise<void> = Promise.resolve();
  private sightingsSavedMs = 0;
  private tellRevoked: (device: Device) => void = () => undefined;
  private tellRight: (device: Device, volume: string) => void = () => undefined;

  private constructor(root: DiskRoot, clock: Clock) {
    this.root = root;
    this.clock = clock;
  }

  /** `root`: the server's own folder; the caller closes it. @throws RunnelError Version, Corrupt. */
  static async open(root: DiskRoot, clock: Clock): Promise<DeviceRegistry> {
    const registry = new DeviceRegistry(root, clock);
    const rows = await readRegistry(root);
    for (const device of rows.devices) registry.keep(device);
    for (const invite of rows.invites) registry.invites.set(invite.secretDigest, invite);
    return registry;
  }

  /** Told of each device when it is revoked, before that is durable. */
  onRevoked(tell: (device: Device) => void): void {
    this.tellRevoked = tell;
  }

  /** Told when a device's right on a volume becomes another one, before that is durable. */
  onRightChanged(tell: (device: Device, volume: string) => void): void {
    this.tellRight = tell;
  }

  /** The secret is told once; only its digest is kept. `id` is what the invite is listed by. */
  async invite({
    volume,
    right,
    person,
    lastsMs,
  }: Invitation): Promise<{ id: string; secret: string; untilMs: number }> {
    this.forgetOld();
    if (this.invites.size >= LIMITS.invites) throw tooMany("invites", LIMITS.invites);
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const untilMs = this.nowMs() + lastsMs;
    const secretDigest = digestOf(secret);
    const invite = { secretDigest, volume, right, person, untilMs };
    this.invites.set(secretDigest, invite);
    await this.save();
    return { id: inviteId(invite), secret, untilMs };
  }

  /** Returns the device that has the token, also one that is revoked. */
  find(token: string): Device | undefined {
    return this.byToken.get(digestOf(token));
  }

  /** Returns the device that has the token. @throws Denied when none has it; Revoked. */
  deviceOf(token: string): Device {
    const device = this.find(token);
    if (device === undefined) {
      throw new RunnelError(
        "Denied",
        "hello",
        "This device is not known to the server. Log in with an invite: runnel login INVITE.",
      );
    }
    mustNotBeRevoked(device);
    return device;
  }

  /**
   * Uses an invite up. The same token may come again, as after a lost answer, and is answered the same. @throws Denied
   * with the sentence that its person needs; Revoked.
   */
  async join({ secret, token, name }: RequestOf<"join">): Promise<Joined> {
    const invite = this.invites.get(digestOf(secret));
    if (invite === undefined) throw denied("This invite is not known here. Ask for a new one.");
    let device = this.find(token);
    if (device !== undefined) mustNotBeRevoked(device);
    const { volume, right, person } = invite;
    const id = inviteId(invite);
    if (device !== undefined && invite.usedBy === device.id && this.answeredInvites.has(id))
      return { device, volume, right, invite: id, isAgain: true };
    if (invite.usedBy === undefined || invite.usedBy !== device?.id) {
      this.mustBeFresh(invite);
      device ??= this.newDevice(token, name, person);
      invite.usedBy = device.id;
      this.grant(device, volume, right);
    }
    // A repeated request saves too: what was given before may not be durable yet.
    await this.save();
    // Meanwhile somebody may have.
    mustNotBeRevoked(device);
    return { device, volume, right, invite: id, isAgain: false };
  }

  /** Takes note that what an invite gave is durable, and recorded: that its device asks again costs no sync. */
  answered({ invite }: Joined): void {
    this.answeredInvites.add(invite);
  }

  /** A device is connected, or was until now. A crash forgets some minutes of it. */
  seen(id: string): void {
    const device = this.byId.get(id);
    if (device === undefined) return;
    const nowMs = this.nowMs();
    device.seenMs = nowMs;
    if (nowMs - this.sightingsSavedMs < SEEN_EVERY_MS) return;
    this.sightingsSavedMs = nowMs;
    // Whatever fails here, the next change writes it.
    this.save().catch(() => undefined);
  }

  /** Tells whether there is such a device, not revoked, that may write to the volume. */
  mayWrite(id: string, volume: string): boolean {
    const device = this.byId.get(id);
    return device !== undefined && device.revokedMs === undefined && rightOn(device, volume) === "write";
  }

  /** Lists the devices in the order in which they came. */
  list(): readonly Device[] {
    return [...this.byId.values()];
  }

  /** Revokes a device, given by id or name. @throws NotFound; Invalid when several have the name. */
  async revoke(asked: string): Promise<Device> {
    const device = this.named(asked, "revoke");
    device.revokedMs = this.nowMs();
    this.tellRevoked(device);
    await this.save();
    return device;
  }

  /**
   * Sets the right of a device, given by id or name; with undefined it has none from now on. @throws NotFound; Invalid
   * when several have the name.
   */
  async setRight(asked: string, volume: string, right: Right | undefined): Promise<Device> {
    const device = this.named(asked, "right");
    this.grant(device, volume, right);
    await this.save();
    return device;
  }

  /** Ends all rights on a volume, and withdraws the invites to it that nobody has used. */
  async forgetVolume(volume: string): Promise<void> {
    for (const device of this.byId.values()) this.grant(device, volume, undefined);
    for (const [key, invite] of this.invites)
      if (invite.volume === volume && invite.usedBy === undefined) this.invites.delete(key);
    await this.save();
  }

  /** Lists invites that somebody may still use, and those that were used or ran out within the last month. */
  listInvites(): ListedInvite[] {
    this.forgetOld();
    return Array.from(this.invites.values(), (invite) => this.listed(invite));
  }

  /** Withdraws an invite: nobody can use it any more. @throws NotFound; Invalid for one that was used. */
  async withdraw(id: string): Promise<ListedInvite> {
    const invite = [...this.invites.values()].find((each) => inviteId(each) === id);
    if (invite === undefined)
      throw new RunnelError("NotFound", "invites", `There is no invite ${id}. Run "runnel invites" to see them.`);
    const listed = this.listed(invite);
    if (listed.usedBy !== undefined) {
      const sentence = `The invite ${id} was used by ${listed.usedBy}. To shut that device out: runnel revoke ${invite.usedBy}.`;
      throw new RunnelError("Invalid", "invites", sentence);
    }
    this.invites.delete(invite.secretDigest);
    await this.save();
    return listed;
  }

  private listed(invite: Invite): ListedInvite {
    const { volume, right, person, untilMs, usedBy } = invite;
    const name = usedBy === undefined ? undefined : (this.byId.get(usedBy)?.name ?? usedBy);
    return { id: inviteId(invite), volume, right, person, untilMs, hasRunOut: this.nowMs() > untilMs, usedBy: name };
  }

  private grant(device: Device, volume: string, right: Right | undefined): void {
    const before = rightOn(device, volume);
    const others = device.grants.filter((each) => each.volume !== volume);
    device.grants = right === undefined ? others : [...others, { volume, right }];
    if (before !== right) this.tellRight(device, volume);
  }

  private named(asked: string, operation: string): Device {
    const current = this.list().filter(({ revokedMs }) => revokedMs === undefined);
    const found = current.filter(({ id, name }) => id === asked || name === asked);
    const [device, other] = found;
    if (device === undefined)
      throw new RunnelError("NotFound", operation, `No device is called ${asked}. Run "runnel devices" to see them.`);
    if (other === undefined) return device;
    const ids = found.map(({ id }) => id).join(", ");
    throw new RunnelError(
      "Invalid",
      operation,
      `${found.length} devices are called ${asked}. Name one by its id: ${ids}.`,
    );
  }

  private newDevice(token: string, name: string, person: string): Device {
    if (this.byId.size >= LIMITS.devices) throw tooMany("devices", LIMITS.devices);
    let id: string;
    do id = randomBytes(DEVICE_ID_BYTES).toString("hex");
    while (this.byId.has(id));
    const device = { id, name, person, tokenDigest: digestOf(token), grants: [], createdMs: this.nowMs() };
    this.keep(device);
    return device;
  }

  private keep(device: Device): void {
    this.byId.set(device.id, device);
    this.byToken.set(device.tokenDigest, device);
  }

  private mustBeFresh({ usedBy, untilMs }: Invite): void {
    if (usedBy !== undefined)
      throw denied("This invite was used already. Ask for a new one; if it was not you who used it, say so there.");
    if (this.nowMs() > untilMs) {
      const until = new Date(untilMs).toISOString().slice(0, 16).replace("T", " ");
      throw denied(`This invite ran out at ${until} UTC. Ask for a new one.`);
    }
  }

  private forgetOld(): void {
    for (const [key, { untilMs }] of this.invites) if (this.nowMs() > untilMs + REMEMBER_MS) this.invites.delete(key);
  }

  /** Saves one state after another; what a later call writes is the later state. */
  private save(): Promise<void> {
    const write = (): Promise<void> =>
      writeRegistry(this.root, { devices: [...this.byId.values()], invites: [...this.invites.values()] });
    const saved = this.saving.then(write, write);
    this.saving = saved;
    return saved;
  }

  private nowMs(): number {
    return Number(this.clock.wallNs() / 1_000_000n);
  }
}

export function rightOn(device: Device, volume: string): Right | undefined {
  return device.grants.find((grant) => grant.volume === volume)?.right;
}

function inviteId({ secretDigest }: Invite): string {
  return secretDigest.slice(0, INVITE_ID_DIGITS);
}

function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

export function mustNotBeRevoked({ revokedMs }: Device): void {
  if (revokedMs === undefined) return;
  throw revoked();
}

export function revoked(): RunnelError {
  const sentence = "The server has withdrawn this device's access. Ask whoever runs it for a new invite.";
  return new RunnelError("Revoked", "hello", sentence);
}

function denied(sentence: string): RunnelError {
  return new RunnelError("Denied", "join", sentence);
}

function tooMany(what: string, limit: number): RunnelError {
  return new RunnelError("TooLarge", "invite", `The server keeps no more than ${limit} ${what}.`, {
    detail: { limit },
  });
}
