// Entry of the emulator's process: JSON lines in, JSON lines out (emulator-process.ts).
import { createInterface } from "node:readline";
import { type EmulatorAnswer, type EmulatorRequest, unpackShape } from "./emulator-process.ts";
import type { LinkEmulator } from "./link-emulator.ts";
import { startEmulatorHere } from "./proxy-emulator.ts";

let emulator: LinkEmulator | undefined;

async function perform(request: EmulatorRequest): Promise<unknown> {
  if (request.method === "start") {
    const [settings] = request.args;
    const shape = unpackShape(settings.shape ?? {});
    emulator = await startEmulatorHere({ ...settings, shape });
    return emulator.port;
  }
  if (emulator === undefined) throw new Error("not started");
  if (request.method === "setShape") return emulator.setShape(unpackShape(request.args[0]));
  if (request.method === "cut") return emulator.cut(request.args[0]);
  if (request.method === "flap") return emulator.flap(...request.args);
  return emulator[request.method]();
}

async function answer(line: string): Promise<void> {
  const request = JSON.parse(line) as EmulatorRequest;
  const reply: EmulatorAnswer = { id: request.id };
  try {
    reply.result = await perform(request);
  } catch (error) {
    reply.error = error instanceof Error ? error.message : String(error);
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

createInterface({ input: process.stdin })
  .on("line", (line) => void answer(line))
  .on("close", () => process.exit(0));
