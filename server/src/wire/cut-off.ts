// Ends what a device has open and holds when it loses its rights: at once, whatever it is doing.
import { RunnelError } from "@runnel/shared";
import type { Device } from "../auth/registry-file.ts";
import type { DeviceRegistry } from "../auth/device-registry.ts";
import { rightOn } from "../auth/device-registry.ts";
import type { Volume } from "../volume/volume.ts";
import type { ConnectionHandler } from "./connection-handler.ts";

export interface CutOffDeps {
  handlers: ReadonlySet<ConnectionHandler>;
  /** Volumes that are served now. */
  volumes: readonly Volume[];
  warn(message: string, error?: unknown): void;
}

/**
 * Cuts off a device whose access was withdrawn. Its connections end first: from then on it can ask nothing. Nobody
 * waits for what it may still hold, and nothing that it began is kept.
 */
export function cutOff(device: Device, { handlers, volumes, warn }: CutOffDeps): void {
  for (const handler of handlers) if (handler.deviceId === device.id) handler.revoke();
  for (const volume of volumes) {
    volume.colleagues.shutOut(device.id);
    forgetHolders(device, volume, warn);
    dropUploads(device, volume, warn);
  }
}

/** Makes the device attach anew, and says why: its right on a volume has changed. */
export function rightChanged(device: Device, name: string, { handlers, volumes, warn }: CutOffDeps): void {
  const error = new RunnelError("Unreachable", "attach", "What this device may do was changed.");
  for (const handler of handlers) if (handler.uses(device.id, name)) handler.close(error);
  const volume = volumes.find((each) => each.name === name);
  if (volume === undefined) return;
  const right = rightOn(device, name);
  if (right === undefined) {
    volume.colleagues.shutOut(device.id);
    forgetHolders(device, volume, warn);
  }
  if (right === "write") volume.uploads.restore(device.id);
  else dropUploads(device, volume, warn);
}

/** Discards what was begun by devices that lost the right to write while the volume was not open. */
export function dropUploadsOfOthers(
  volume: Volume,
  devices: Pick<DeviceRegistry, "mayWrite">,
  warn: CutOffDeps["warn"],
): void {
  volume.uploads
    .dropOthers((device) => devices.mayWrite(device, volume.name))
    .catch((error: unknown) => warn("Unfinished uploads of devices that may not write could not be removed.", error));
}

function dropUploads(device: Device, volume: Volume, warn: CutOffDeps["warn"]): void {
  volume.uploads
    .drop(device.id)
    .catch((error: unknown) => warn("An unfinished upload of a device that was cut off could not be removed.", error));
}

/** Waits no longer for what the device may still hold of the volume. */
function forgetHolders(device: Device, volume: Volume, warn: CutOffDeps["warn"]): void {
  volume.meta
    .forgetNodeOwner(device.id)
    .catch((error: unknown) => warn("Node ids of a device that was cut off are still kept for it.", error));
  for (const instance of volume.feed.drop(device.id)) {
    volume.meta
      .setAttached(instance, 0)
      .catch((error: unknown) => warn("The next start may wait for a device that was cut off.", error));
  }
}
