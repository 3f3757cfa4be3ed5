// A server's own folder in its data: key, certificate, and device registry.
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock, Disk, TlsIdentity } from "@runnel/shared";
import { fingerprintOf, givenIdentity, hasOwnIdentity, ownIdentity, vouchesForItself } from "@runnel/shared";
import { AuditLog } from "../audit/audit-log.ts";
import { type RecordedSettings, recordChanges } from "../audit/recorded-settings.ts";
import { People } from "./people.ts";
import { openData } from "../served-folders.ts";
import { ServingLock } from "../volume/serving-lock.ts";
import { DeviceRegistry } from "./device-registry.ts";
import { OWN_FOLDER } from "./own-folder.ts";

const PRIVATE_MODE = 0o700;
const NOTE = "serving";
const OWNER = { name: "Runnel server", loss: "all devices need new invites" };

export interface Security {
  /** Identity for TLS; undefined when nobody has been invited yet. */
  readonly identity: TlsIdentity | undefined;
  /**
   * Fingerprint of the key, for invites; undefined when an authority vouches for it, or nobody has been invited yet.
   */
  readonly fingerprint: string | undefined;
  devices: DeviceRegistry;
  people: People;
  /** Invites somebody to become a device; the server has a key from then on. */
  invite: DeviceRegistry["invite"];
  audit: AuditLog;
  /** Records which volumes and settings are others than at the last start. */
  recordChanges(now: RecordedSettings): Promise<void>;
  /** The server's own. */
  folder: string;
  /** When the server has ended. */
  release(): Promise<void>;
}

export interface SecurityChoice {
  given?: { certificatePath: string; keyPath: string };
  hostname: string;
  /** A key is made when the first device is invited: most servers of one user never have any. */
  isLate: boolean;
  warn(message: string, error?: unknown): void;
}

/** @throws RunnelError with a sentence for a person; Busy when another server has the folder. */
export async function openSecurity(
  disk: Disk,
  clock: Clock,
  dataFolder: string,
  { given, hostname, isLate, warn }: SecurityChoice,
): Promise<Security> {
  const brought = given && (await givenIdentity(given.certificatePath, given.keyPath));
  const root = await openData(disk, join(dataFolder, OWN_FOLDER), PRIVATE_MODE);
  let lock: ServingLock | undefined;
  let audit: AuditLog | undefined;
  const release = async (): Promise<void> => {
    await audit?.close();
    await lock?.release();
    await root.close();
  };
  try {
    lock = await ServingLock.take(disk, root, NOTE, `What lies in ${dataFolder}`);
    const log = await AuditLog.open({ root, clock, warn });
    audit = log;
    let identity = brought;
    let making: Promise<void> | undefined;
    // Once: two that are invited at the same moment are told of the same key.
    const makeIdentity = async (): Promise<void> => {
      try {
        identity ??= await ownIdentity(root, { hostname, ...OWNER });
      } finally {
        making = undefined;
      }
    };
    const needIdentity = (): Promise<void> => (making ??= makeIdentity());
    if (!isLate || (await hasOwnIdentity(root))) await needIdentity();
    const devices = await DeviceRegistry.open(root, clock);
    const people = await People.open(root, clock);
    return {
      get identity() {
        return identity;
      },
      get fingerprint() {
        return identity !== undefined && vouchesForItself(identity)
          ? fingerprintOf(new X509Certificate(identity.certificate))
          : undefined;
      },
      devices,
      people,
      invite: async (invitation) => {
        await needIdentity();
        return devices.invite(invitation);
      },
      audit: log,
      recordChanges: async (now) => {
        try {
          await recordChanges(root, now, (entry) => log.record(entry));
        } catch (error) {
          warn("The server's settings could not be remembered: the next start records all of them again.", error);
        }
      },
      folder: root.path,
      release,
    };
  } catch (error) {
    await release();
    throw error;
  }
}
