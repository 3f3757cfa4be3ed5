// The machine that this process runs on, watched by all its drives.
import { networkInterfaces } from "node:os";
import { RealClock } from "@runnel/shared";
import { PolledMachine } from "../polled-machine.ts";

export const thisMachine = new PolledMachine(new RealClock(), () => addressesOf(networkInterfaces()));

/** Returns the addresses with the names of their interfaces, those of this machine alone left out. */
export function addressesOf(interfaces: ReturnType<typeof networkInterfaces>): string {
  return Object.entries(interfaces)
    .flatMap(([name, addresses = []]) =>
      addresses.filter(({ internal }) => !internal).map(({ cidr, address }) => `${name} ${cidr ?? address}`),
    )
    .toSorted()
    .join("\n");
}
