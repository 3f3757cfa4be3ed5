// Holds the two ends of a connection to the rules of envelope.ts.
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { CallClient } from "../../src/calls/call-client.ts";
import { CallServer, type CallServerSettings } from "../../src/calls/call-server.ts";
import type { Call } from "../../src/calls/call-table.ts";
import { RunnelError } from "../../src/errors.ts";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { carrierContract } from "./carrier-contract.ts";
import { type MemoryCarrier, memoryCarriers } from "./memory-carriers.ts";

const TABLE = {
  add: { asks: z.object({ numbers: z.array(z.number()).max(3) }), gives: z.object({ sum: z.number() }) },
  count: { asks: z.object({ to: z.number() }), part: z.object({ at: z.number() }), gives: z.object({}) },
  wait: { asks: z.object({}), gives: z.object({ isCancelled: z.boolean() }) },
  fail: { asks: z.object({}), gives: z.object({}) },
  lie: { asks: z.object({}), gives: z.object({ sum: z.number() }) },
};
/** Verbs that the server does not know. */
const NEWER = { ...TABLE, dance: { asks: z.object({}), gives: z.object({}) }, toString: TABLE.wait };

const SENTENCES = { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." };

async function handle(verb: string, request: unknown, call: Call): Promise<unknown> {
  if (verb === "add") return { sum: (request as { numbers: number[] }).numbers.reduce((sum, each) => sum + each, 0) };
  if (verb === "fail")
    throw new RunnelError("NotFound", "fail", "There is none.", { detail: { limit: 5, rule: "W1" } });
  if (verb === "count") for (let at = 1; at <= (request as { to: number }).to; at += 1) await call.part({ at });
  if (verb !== "wait") return {};
  await new Promise<void>((done) => {
    call.signal.addEventListener("abort", () => done());
  });
  return { isCancelled: true };
}

function serve(carrier: MemoryCarrier, settings: Partial<CallServerSettings> = {}): CallServer {
  const hello = { protocol: 1, version: "1.0.0", pid: 7, features: ["dancing"] };
  const clock = new SimulatedClock();
  return new CallServer(carrier, { hello, clock, helloMs: 1000, requestsMax: 3, table: TABLE, handle, ...settings });
}

async function connected(settings: Partial<CallServerSettings> = {}) {
  const [near, far] = memoryCarriers();
  const server = serve(far, settings);
  const opened = await CallClient.open(near, NEWER, clientSettings());
  if (opened === undefined) throw new Error("The server went.");
  return { ...opened, server, near, far };
}

function clientSettings(clock = new SimulatedClock()) {
  const hello = { protocol: 1, version: "2.0.0", features: [] };
  return { hello, clock, deadlineMs: 500, operation: "ask", sentences: SENTENCES };
}

/** Sends texts without a client, and resolves with what was answered once the server closes. */
async function sayUntilClosed(settings: Partial<CallServerSettings>, ...texts: string[]): Promise<unknown[]> {
  const [near, far] = memoryCarriers();
  const answers: unknown[] = [];
  near.onText((text) => answers.push(JSON.parse(text)));
  const closed = new Promise<void>((done) => {
    near.onClose(() => done());
  });
  serve(far, settings);
  for (const text of texts) void near.send(text);
  await closed;
  return answers.slice(1);
}

const HELLO = JSON.stringify({ hello: { protocol: 1, version: "2.0.0" } });

describe("carriers in memory", () => {
  carrierContract(async () => {
    const [near, far] = memoryCarriers();
    return { near, far, hold: () => near.hold() };
  });
});

describe("a call", () => {
  test("is answered with a checked result, several at a time", async () => {
    const { client, hello } = await connected();
    expect(hello).toEqual({ protocol: 1, version: "1.0.0", pid: 7, features: ["dancing"] });
    const sums = [[1], [1, 2], []].map((numbers) => client.ask("add", { numbers }));
    expect(await Promise.all(sums)).toEqual([{ sum: 1 }, { sum: 3 }, { sum: 0 }]);
  });

  test("gives its parts in order before the result", async () => {
    const { client } = await connected();
    const parts: number[] = [];
    expect(await client.ask("count", { to: 3 }, ({ at }) => parts.push(at))).toEqual({});
    expect(parts).toEqual([1, 2, 3]);
  });

  test("fails with the kind, sentence and detail of the other end", async () => {
    const { client } = await connected();
    const error = { kind: "NotFound", operation: "fail", message: "There is none.", detail: { limit: 5, rule: "W1" } };
    await expect(client.ask("fail", {})).rejects.toMatchObject(error);
  });

  test("of an unknown verb is Unsupported, and the connection goes on", async () => {
    const { client } = await connected();
    for (const verb of ["dance", "toString"] as const)
      await expect(client.ask(verb, {})).rejects.toMatchObject({ kind: "Unsupported" });
    expect(await client.ask("add", { numbers: [4] })).toEqual({ sum: 4 });
  });

  test("that does not fit its verb's schema is Invalid, and the connection goes on", async () => {
    const { client } = await connected();
    await expect(client.ask("add", { numbers: [1, 2, 3, 4] })).rejects.toMatchObject({ kind: "Invalid" });
    expect(await client.ask("add", { numbers: [4] })).toEqual({ sum: 4 });
  });

  test("is cancelled by its asker, and still answered", async () => {
    const { client } = await connected();
    const enough = new AbortController();
    const waiting = client.ask("wait", {}, undefined, enough.signal);
    enough.abort();
    expect(await waiting).toEqual({ isCancelled: true });
  });

  test("does not wait for room once it is cancelled", async () => {
    const { client, far } = await connected();
    far.hold();
    const enough = new AbortController();
    const counting = client.ask("count", { to: 2 }, () => enough.abort(), enough.signal);
    expect(await counting).toEqual({});
  });

  test("is cancelled when the asker goes", async () => {
    let signal: AbortSignal | undefined;
    const { client } = await connected({
      handle: async (_verb, _request, call) => {
        signal = call.signal;
        return new Promise(() => undefined);
      },
    });
    const asked = client.ask("wait", {});
    client.close();
    await expect(asked).rejects.toMatchObject({ kind: "Unavailable", message: "Ended." });
    expect(signal?.aborted).toBe(true);
    await expect(client.ask("wait", {})).rejects.toMatchObject({ kind: "Unavailable" });
  });

  test("fails when its answer is not as it must be, and so does all else", async () => {
    const { client } = await connected();
    const waiting = client.ask("wait", {});
    await expect(client.ask("lie", {})).rejects.toMatchObject({ kind: "Version", message: "Not understood." });
    await expect(waiting).rejects.toMatchObject({ kind: "Version" });
  });

  test("that fails by a fault of the server is reported there, and answered", async () => {
    const problems: unknown[] = [];
    const { client } = await connected({
      handle: () => Promise.reject(new TypeError("a bug")),
      problem: (error) => problems.push(error),
    });
    await expect(client.ask("wait", {})).rejects.toMatchObject({ kind: "Io" });
    expect(problems).toEqual([expect.any(TypeError)]);
  });
});

describe("a connection", () => {
  test.each([
    ["no JSON", ["status"]],
    ["no message", ['{"id":1,"question":{"verb":"add"}}']],
    ["a number that is in use", ['{"id":1,"request":{"verb":"wait"}}', '{"id":1,"request":{"verb":"wait"}}']],
    ["one request too many", [1, 2, 3, 4].map((id) => `{"id":${id},"request":{"verb":"wait"}}`)],
    [
      "more features than a hello may have",
      [JSON.stringify({ hello: { protocol: 1, version: "", features: "x".repeat(65).split("") } })],
    ],
  ])("ends at %s", async (_, texts) => {
    const problems: unknown[] = [];
    await sayUntilClosed({ problem: (error) => problems.push(error) }, HELLO, ...texts);
    expect(problems).toEqual([expect.objectContaining({ kind: "Invalid" })]);
  });

  test("ends at a request before the hello, and without a hello in time", async () => {
    const problem = (): void => undefined;
    expect(await sayUntilClosed({ problem }, '{"id":1,"request":{"verb":"add","numbers":[]}}')).toEqual([]);
    const clock = new SimulatedClock();
    const closed = sayUntilClosed({ clock });
    clock.advance(1000);
    expect(await closed).toEqual([]);
  });

  test("ends after a hello of another protocol", async () => {
    const other = JSON.stringify({ hello: { protocol: 2, version: "9.0.0", features: ["unknown"] } });
    expect(await sayUntilClosed({}, other, '{"id":1,"request":{"verb":"add","numbers":[]}}')).toEqual([]);
  });

  test("is not opened when the other end goes before its hello, or says none in time", async () => {
    const [near, far] = memoryCarriers();
    const opening = CallClient.open(near, TABLE, clientSettings());
    far.close();
    expect(await opening).toBeUndefined();
    const clock = new SimulatedClock();
    const [mute] = memoryCarriers();
    const waiting = CallClient.open(mute, TABLE, clientSettings(clock));
    clock.advance(500);
    await expect(waiting).rejects.toMatchObject({ kind: "Unavailable", message: "Silent." });
  });

  test("that finishes answers what was asked, cancels what goes on until then, takes nothing more, and closes", async () => {
    const { client, server } = await connected();
    const waiting = client.ask("wait", {});
    await client.ask("add", { numbers: [] });
    server.finish();
    const late = client.ask("add", { numbers: [] });
    expect(await waiting).toEqual({ isCancelled: true });
    await expect(late).rejects.toMatchObject({ kind: "Unavailable" });
  });
});
