// runnel devices: who was let in by the server that runs here.
import type { AdminResult } from "@runnel/server";
import type { Command } from "commander";
import { formatTable, formatTime } from "../format.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

export type Device = AdminResult<"revoke">["revoked"];

export function addDevices(program: Command, output: Output): void {
  addVerb(program, "devices", "Lists the devices that the server lets in, for whoever runs it.", ["devices"])
    .option("--all", "those that were revoked, too")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (options: { all?: true; data?: string }) => {
      const { askServer } = await import("@runnel/server/admin");
      const { devices } = await askServer(dataFolder(options.data), "devices", {});
      const shown = devices.filter(({ revokedMs }) => options.all === true || revokedMs === null);
      output.result({ devices: shown }, () => describeDevices(shown));
    });
}

export function describeDevices(devices: readonly Device[]): string[] {
  if (devices.length === 0) return ["No devices yet. Let one in: runnel invite VOLUME"];
  const rows = devices.map((device) => [device.name, device.id, device.person, volumesOf(device), stateOf(device)]);
  return formatTable([["device", "id", "for", "volumes", "state"], ...rows], "words");
}

function volumesOf({ volumes }: Device): string {
  return volumes.map(({ name, isReadOnly }) => (isReadOnly ? `${name} (read)` : name)).join(", ");
}

function stateOf({ isConnected, revokedMs, seenMs }: Device): string {
  if (revokedMs !== null) return "revoked";
  if (isConnected) return "connected";
  return seenMs === null ? "away" : `away since ${formatTime(seenMs)}`;
}
