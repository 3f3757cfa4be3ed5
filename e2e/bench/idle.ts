// `idle`: what clients cost a server that are attached and do nothing. All of them from this process, over loopback.
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type TLSSocket, connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { askServer } from "@runnel/server/admin";
import { type Connection, type Dialer, LIMITS, LocalSecrets, RealClock, WsDialer, sleep } from "@runnel/shared";
import { Sandbox, type ServerProcess, residentBytes } from "../src/harness/index.ts";
import { bareConnection } from "../src/harness/clients/wire-client.ts";
import type { BenchContext, Benchmark, Result } from "./benchmark.ts";

const BARE_TLS = fileURLToPath(new URL("bare-tls.ts", import.meta.url));
const CLIENTS = { full: 10_000, small: 2_000, tiny: 100 };
const AT_ONCE = 32;
/** Rest from what connecting left behind, before and after. */
const REST_MS = 10_000;
const IDLE_MS = 20_000;
const DEADLINE_MS = 30 * 60_000;
/** USER_HZ (time(7)). */
const TICKS_PER_SECOND = 100;

export interface IdleRow {
  what: string;
  clients: number;
  /** Server's memory for each client. */
  bytesEach: number;
  /** Share of one processor. */
  percent: number;
}

export const idleBenchmark: Benchmark = {
  name: "idle",
  about: "clients that are attached and do nothing: memory and processor of the server; --size full|small|tiny",
  async run(context: BenchContext): Promise<Result> {
    const clients = CLIENTS[context.size];
    const rows: IdleRow[] = [];
    for (const hasTls of [false, true]) {
      context.say(`${clients} clients ${hasTls ? "with TLS" : "without TLS"}`);
      rows.push(await measured(clients, hasTls));
    }
    context.say(`${clients} sockets of Node's TLS, to compare with`);
    const bareBytesEach = await bareTls(clients);
    return {
      rows: [...rows, { what: "Node's TLS alone", clients, bytesEach: bareBytesEach }],
      table: tableOf(rows, bareBytesEach),
    };
  },
};

/** Memory of a server that has so many sockets of TLS and does nothing else, each. */
async function bareTls(clients: number): Promise<number> {
  const sandbox = new Sandbox(DEADLINE_MS);
  const sockets: TLSSocket[] = [];
  let child: ChildProcess | undefined;
  try {
    // Makes the server's key.
    await sandbox.startServer({ args: ["--tls"] });
    child = fork(BARE_TLS, [sandbox.path("data/_server")]);
    const [port] = (await once(child, "message")) as [number];
    const pid = child.pid ?? 0;
    const clock = new RealClock();
    const connectNext = async (): Promise<void> => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
      sockets.push(socket);
      await once(socket, "secureConnect");
      socket.write("hello");
      await once(socket, "data");
    };
    await connectNext();
    await sleep(clock, REST_MS);
    const beforeBytes = residentBytes(pid);
    while (sockets.length <= clients)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, clients + 1 - sockets.length) }, connectNext));
    await sleep(clock, REST_MS);
    return (residentBytes(pid) - beforeBytes) / clients;
  } finally {
    for (const socket of sockets) socket.destroy();
    child?.kill();
    await sandbox.cleanup();
  }
}

async function measured(clients: number, hasTls: boolean): Promise<IdleRow> {
  const sandbox = new Sandbox(DEADLINE_MS);
  const connections: Connection[] = [];
  try {
    const args = ["--connections", String(clients + LIMITS.unopened), ...(hasTls ? ["--tls"] : [])];
    const server = await sandbox.startServer({ args });
    const pid = server.child.pid ?? 0;
    const clock = new RealClock();
    const dialer = new WsDialer(() => ({ fingerprint: server.fingerprint ?? "" }), LocalSecrets.ofUser(sandbox.env));
    let token: string | undefined;
    let begun = 0;
    const connectNext = async (): Promise<void> => {
      const number = ++begun;
      const connection = await greeted(server, dialer, clock, token);
      connections.push(connection);
      const instance = number.toString(16).padStart(32, "0");
      await connection.open("attach", { volume: "docs", instance, wantsNodes: false }).next();
    };
    // Memory for what the first ones load is not theirs.
    token = hasTls ? await newDevice(sandbox, server, dialer, clock) : undefined;
    await connectNext();
    await sleep(clock, REST_MS);
    const beforeBytes = residentBytes(pid);
    while (connections.length <= clients) {
      if (hasTls) token = await newDevice(sandbox, server, dialer, clock);
      for (let of = 0; of < LIMITS.deviceConnections / AT_ONCE && connections.length <= clients; of++)
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, clients + 1 - connections.length) }, connectNext));
    }
    await sleep(clock, REST_MS);
    const beganTicks = processorTicks(pid);
    await sleep(clock, IDLE_MS);
    const ticks = processorTicks(pid) - beganTicks;
    const closed = connections.filter(({ isOpen }) => !isOpen).length;
    if (closed > 0) throw new Error(`${closed} of ${clients} clients were cut off.`);
    return {
      what: hasTls ? "with TLS" : "without TLS",
      clients,
      bytesEach: (residentBytes(pid) - beforeBytes) / clients,
      percent: (100 * ticks) / TICKS_PER_SECOND / (IDLE_MS / 1000),
    };
  } finally {
    for (const connection of connections) connection.link.close(1000, "");
    await sandbox.cleanup();
  }
}

async function greeted(
  server: ServerProcess,
  dialer: Dialer,
  clock: RealClock,
  token: string | undefined,
): Promise<Connection> {
  const link = await dialer.dial(server.url);
  const connection = bareConnection(link);
  await connection.call("hello", { protocol: 1, software: "idle client", token, proof: link.ownerProof });
  return connection;
}

/** Joins a new device and returns its token. */
async function newDevice(sandbox: Sandbox, server: ServerProcess, dialer: Dialer, clock: RealClock): Promise<string> {
  const asked = { volume: "docs", isReadOnly: false, person: "", lastsMs: 3_600_000 };
  const { invite } = await askServer(sandbox.path("data"), "invite", asked);
  const token = randomBytes(32).toString("base64url");
  const connection = await greeted(server, dialer, clock, undefined);
  await connection.call("join", { secret: invite.split(".").at(-1), token, name: "idle" });
  connection.link.close(1000, "");
  return token;
}

/** Ticks of all its threads, in user and system (proc(5), stat: fields 14 and 15). */
function processorTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

function tableOf(rows: readonly IdleRow[], bareBytesEach: number): string {
  const lines = rows.map(
    ({ what, clients, bytesEach, percent }) =>
      `${clients} idle clients ${what}: ${(bytesEach / 1024).toFixed(1)} KiB each (goal 20 KB beyond TLS), ${percent.toFixed(2)} % of a processor (goal 1)`,
  );
  return [...lines, `Node's TLS alone: ${(bareBytesEach / 1024).toFixed(1)} KiB a socket`].join("\n");
}
