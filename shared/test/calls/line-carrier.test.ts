import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { LineCarrier } from "../../src/calls/line-carrier.ts";
import { carrierContract } from "./carrier-contract.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function sockets(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), "runnel-test-"));
  const server = createServer();
  const path = join(folder, "socket");
  await new Promise<void>((done) => {
    server.listen(path, done);
  });
  const accepted = new Promise<Socket>((done) => {
    server.once("connection", done);
  });
  const near = connect(path);
  const far = await accepted;
  cleanups.push(() => {
    for (const end of [near, far]) end.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return [near, far];
}

describe("LineCarrier", () => {
  carrierContract(async () => {
    const [near, far] = await sockets();
    return {
      near: new LineCarrier(near, 1_000_000),
      far: new LineCarrier(far, 1_000_000),
      hold: () => {
        far.pause();
        return () => far.resume();
      },
    };
  });

  test.each([
    ["longer than is allowed", Buffer.from("x".repeat(11)), "TooLarge"],
    ["not UTF-8", Buffer.from([0xff, 0x0a]), "Invalid"],
  ])("ends with an error at a line that is %s", async (_, bytes, kind) => {
    const [near, far] = await sockets();
    const carrier = new LineCarrier(far, 10);
    const texts: string[] = [];
    const closed = new Promise<unknown>((done) => {
      carrier.onClose(done);
    });
    carrier.onText((text) => texts.push(text));
    near.write(Buffer.concat([Buffer.from("short\n"), bytes]));
    expect(await closed).toMatchObject({ kind });
  });
});
