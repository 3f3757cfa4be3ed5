// A bus that lies: it takes the log-in, and then refuses the first call, ends the line, or says what is no message. The
// engines that ask a bus survive it, in a process of its own, which an error that nobody takes would end.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "@jest/globals";

const SOURCES = new URL("../../../src/agent/", import.meta.url).href;

/** Asks both engines of each bus, and says what each answered. */
const PROGRAM = `
  import { RealClock } from "@runnel/shared/base";
  const { networkManagerCost } = await import("${SOURCES}control/host/line-cost/linux-cost.ts");
  const { SecretService } = await import("${SOURCES}secrets/host/linux/token-store.ts");
  const askBus = async (address) => {
    const said = [];
    const stop = await networkManagerCost(new RealClock(), address)((isMetered) => said.push(isMetered));
    stop();
    const kind = await new SecretService(address).check().then(() => "there", (error) => error.kind);
    return [...said, kind];
  };
  const answers = await Promise.all(process.argv.slice(1).map(askBus));
  // An error that nobody takes comes after the turn in which it was made.
  await new Promise((turn) => setImmediate(turn));
  process.stdout.write(JSON.stringify(answers), () => process.exit());
`;

let folder: string;
const servers: Server[] = [];
const sockets = new Set<Socket>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bus-"));
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** `answer` is given the line once the log-in is over and the first call has come. */
async function listen(login: string, answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    let heard = "";
    let isIn = false;
    socket
      .on("error", () => undefined)
      .on("data", (bytes) => {
        heard += bytes.toString("latin1");
        if (!isIn && /AUTH [^\r]*\r\n$/.test(heard)) {
          heard = "";
          socket.write(login);
        }
        if (!isIn && heard.includes("BEGIN\r\n")) isIn = true;
        if (isIn && heard.includes("Hello")) {
          heard = "";
          answer(socket);
        }
      });
  });
  const path = join(folder, `bus${servers.push(server)}`);
  await once(server.listen(path), "listening");
  return `unix:path=${path}`;
}

/** A message of D-Bus, little-endian: its type, its answer's serial as the one field, a body of strings. */
function message(type: number, fields: readonly [code: number, signature: string, value: number | string][]): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  const put = (bytes: Buffer): void => {
    parts.push(bytes);
    length += bytes.length;
  };
  for (const [code, signature, value] of fields) {
    put(Buffer.alloc((8 - (length % 8)) % 8));
    put(Buffer.from([code, 1, signature.charCodeAt(0), 0]));
    const bytes = Buffer.alloc(typeof value === "number" ? 4 : 5 + value.length);
    bytes.writeUInt32LE(typeof value === "number" ? value : value.length);
    if (typeof value === "string") bytes.write(value, 4);
    put(bytes);
  }
  const head = Buffer.alloc(16);
  head.set([0x6c, type, 0, 1]);
  head.writeUInt32LE(7, 8);
  head.writeUInt32LE(length, 12);
  return Buffer.concat([head, ...parts, Buffer.alloc((8 - (length % 8)) % 8)]);
}

const OK = "OK 0123456789abcdef0123456789abcdef\r\n";
const [ANSWER, FAILURE, CALL] = [2, 3, 1];
const REFUSED = message(FAILURE, [
  [5, "u", 1],
  [4, "s", "org.freedesktop.DBus.Error.LimitsExceeded"],
]);

const LIES: [login: string, answer: (socket: Socket) => void][] = [
  [OK, (socket) => socket.write(REFUSED)],
  [OK, (socket) => socket.end(REFUSED)],
  [OK, (socket) => socket.end()],
  [OK, (socket) => socket.destroy()],
  [OK, (socket) => socket.write(message(ANSWER, [[5, "u", 1]]))],
  [OK, (socket) => socket.write(Buffer.alloc(4096, 0xff))],
  [OK, (socket) => socket.end(message(CALL, [[3, "s", "Nothing"]]))],
  ["REJECTED\r\n", () => undefined],
  ["\n\r\n\0\n", () => undefined],
];

test("a bus that refuses the first call, ends the line or says what is no message is none, and ends nothing", async () => {
  const addresses = await Promise.all(LIES.map(([login, answer]) => listen(login, answer)));
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM, ...addresses], {
    cwd: new URL("../../../", import.meta.url),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect({ said, complained }).toEqual({
    said: JSON.stringify(LIES.map(() => [false, "Unreachable"])),
    complained: "",
  });
});
