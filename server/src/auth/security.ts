// A server's own folder in its data: key, certificate, and who was let in; and what an administrator does with it.
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock, Disk, TlsIdentity } from "@runnel/shared";
import { fingerprintOf } from "@runnel/shared";
import { openData } from "../served-folders.ts";
import { ServingLock } from "../volume/serving-lock.ts";
import type { Device, Right } from "./access-file.ts";
import { Access, type Invitation, type Listed } from "./access.ts";
import { givenIdentity, vouchesForItself } from "./given-identity.ts";
import { OWN_FOLDER } from "./own-folder.ts";
import { hasOwnIdentity, ownIdentity } from "./own-identity.ts";

const PRIVATE_MODE = 0o700;
const NOTE = "serving";

export interface Invited {
  secret: string;
  untilMs: number;
}

/** A device, as an administrator sees it. */
export type Guest = Omit<Device, "tokenDigest">;

export interface Guests {
  /**
   * Fingerprint of the key, for invites; undefined when an authority vouches for it, or nobody has been invited yet.
   */
  readonly fingerprint: string | undefined;
  invite(invitation: Invitation): Promise<Invited>;
  list(): Guest[];
  /** Revokes a device, given by id or name; its connections end at once. @throws RunnelError NotFound, Invalid */
  revoke(asked: string): Promise<Guest>;
  /**
   * Sets the right of a device, given by id or name; undefined takes it away. It holds at once, also for what the
   * device has open. @throws RunnelError NotFound, Invalid
   */
  setRight(asked: string, volume: string, right: Right | undefined): Promise<Guest>;
  listInvites(): Listed[];
  /** @throws RunnelError NotFound, Invalid */
  withdraw(id: string): Promise<Listed>;
}

export interface Security {
  /** Identity for TLS; undefined when nobody has been invited yet. */
  readonly identity: TlsIdentity | undefined;
  access: Access;
  guests: Guests;
  /** The server's own. */
  folder: string;
  /** When the server has ended. */
  release(): Promise<void>;
}

export interface SecurityChoice {
  given?: { certificatePath: string; keyPath: string };
  hostname: string;
  /** A key is made when the first guest is invited: most servers of one user never have any. */
  isLate: boolean;
}

/** @throws RunnelError with a sentence for a person; Busy when another server has the folder. */
export async function openSecurity(
  disk: Disk,
  clock: Clock,
  dataFolder: string,
  { given, hostname, isLate }: SecurityChoice,
): Promise<Security> {
  const brought = given && (await givenIdentity(given.certificatePath, given.keyPath));
  const root = await openData(disk, join(dataFolder, OWN_FOLDER), PRIVATE_MODE);
  let lock: ServingLock | undefined;
  const release = async (): Promise<void> => {
    await lock?.release();
    await root.close();
  };
  try {
    lock = await ServingLock.take(disk, root, NOTE, `What lies in ${dataFolder}`);
    let identity = brought;
    let making: Promise<void> | undefined;
    // Once: two that are invited at the same moment are told of the same key.
    const makeIdentity = async (): Promise<void> => {
      try {
        identity ??= await ownIdentity(root, hostname);
      } finally {
        making = undefined;
      }
    };
    const needIdentity = (): Promise<void> => (making ??= makeIdentity());
    if (!isLate || (await hasOwnIdentity(root))) await needIdentity();
    const access = await Access.open(root, clock);
    const guests: Guests = {
      get fingerprint() {
        return identity !== undefined && vouchesForItself(identity)
          ? fingerprintOf(new X509Certificate(identity.certificate))
          : undefined;
      },
      invite: async (invitation) => {
        await needIdentity();
        return access.invite(invitation);
      },
      list: () => access.list().map(shown),
      revoke: async (asked) => shown(await access.revoke(asked)),
      setRight: async (asked, volume, right) => shown(await access.setRight(asked, volume, right)),
      listInvites: () => access.listInvites(),
      withdraw: (id) => access.withdraw(id),
    };
    return {
      get identity() {
        return identity;
      },
      access,
      guests,
      folder: root.path,
      release,
    };
  } catch (error) {
    await release();
    throw error;
  }
}

function shown({ tokenDigest: _digest, ...guest }: Device): Guest {
  return guest;
}
