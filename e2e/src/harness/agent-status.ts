// Waiting for what an agent says of its drive.
import { Control } from "./control.ts";
import type { Device } from "./product.ts";
import { waitFor } from "./wait.ts";

/** The part of a mount's status (docs/cli.md) that tests wait for. */
export interface MountStatus {
  state: string;
  hasLease: boolean;
  unsentFiles: number;
}

/** Waits until the one drive of a device is so. */
export async function waitForMount(
  device: Device,
  condition: (status: MountStatus) => boolean,
  deadlineMs: number,
  what: string,
): Promise<void> {
  const control = await Control.of(device);
  const holds = async (): Promise<boolean> => {
    const [mount] = (await control.ask({ verb: "status" }))["mounts"] as MountStatus[];
    return mount !== undefined && condition(mount);
  };
  try {
    await waitFor(holds, deadlineMs, what);
  } finally {
    control.close();
  }
}
