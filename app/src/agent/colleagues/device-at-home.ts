// This device's key and door, in the agent's home: made when a drive first wants colleagues.
// oxlint-disable-next-line no-restricted-imports -- of one certificate
import { X509Certificate } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  type Clock,
  type Disk,
  type Executor,
  type TlsIdentity,
  WsDialer,
  fingerprintOf,
  ownIdentity,
} from "@runnel/shared";
import type { LineCost } from "../control/host/line-cost/line-cost.ts";
import { thisLineCost } from "../control/host/line-cost/this-line-cost.ts";
import type { DeviceAtHome } from "./colleagues.ts";
import { ColleagueDoor, ownAddresses } from "./door.ts";
import { lanMulticast } from "./nearby/lan-multicast.ts";
import type { Multicast } from "./nearby/multicast.ts";
import { Nearby } from "./nearby/nearby.ts";

const FOLDER = "identity";
const PRIVATE_MODE = 0o700;
const OWNER = { name: "Runnel device", loss: "this device is another one to its colleagues" };

export interface DeviceDeps {
  /** Folder of the agent's home. */
  home: string;
  disk: Disk;
  clock: Clock;
  executor: Executor;
  software: string;
  /** Left out: as this system says. */
  lineCost?: LineCost;
  /** Left out: that of this machine, unless RUNNEL_MDNS is off. */
  multicast?: Multicast;
}

export function deviceAtHome({ home, disk, clock, executor, software, lineCost, multicast }: DeviceDeps): DeviceAtHome {
  const heard = multicast ?? (process.env.RUNNEL_MDNS === "off" ? undefined : lanMulticast(clock));
  let made: Promise<TlsIdentity> | undefined;
  let own: TlsIdentity | undefined;
  const make = async (): Promise<TlsIdentity> => {
    const root = await disk.openRoot(join(home, FOLDER), { permissions: PRIVATE_MODE });
    try {
      own = await ownIdentity(root, { hostname: hostname(), ...OWNER });
      return own;
    } finally {
      await root.close();
    }
  };
  const identity = async (): Promise<TlsIdentity> => {
    try {
      return await (made ??= make());
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
  return {
    door: new ColleagueDoor({ clock, executor, software, identity }),
    key: async () => {
      const { certificate } = await identity();
      return new Uint8Array(Buffer.from(fingerprintOf(new X509Certificate(certificate)), "base64url"));
    },
    addresses: ownAddresses,
    lineCost: lineCost ?? thisLineCost(clock),
    ...(heard === undefined ? {} : { nearby: new Nearby({ clock, multicast: heard }) }),
    dialerFor: (fingerprint) => new WsDialer(() => ({ fingerprint, proxy: "direct", own })),
  };
}
