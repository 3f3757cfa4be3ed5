// The supplies of this process's agent, with the real engines; opened when they are first asked for.
import { realDisk, threadExecutor } from "@runnel/native";
import { RealClock } from "@runnel/shared";
import { AgentHome } from "../control/index.ts";
import { Supplies } from "./supplies.ts";

export type LogSupplies = (message: string, error?: unknown) => void;

let opening: Promise<Supplies> | undefined;

/** @throws as Supplies.open, each time anew. */
export async function suppliesHere(log: LogSupplies): Promise<Supplies> {
  opening ??= Supplies.open({
    home: new AgentHome().folder,
    disk: realDisk(),
    executor: threadExecutor(),
    clock: new RealClock(),
    log,
  });
  try {
    return await opening;
  } catch (error) {
    opening = undefined;
    throw error;
  }
}

/** Ends the scans, at the end of the agent. */
export async function closeSuppliesHere(): Promise<void> {
  const closing = opening;
  opening = undefined;
  await (await closing?.catch(() => undefined))?.close();
}
