import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type CallClient, RealClock, sleep } from "@runnel/shared";
import { AgentHome, connectAgent, CONTROL_LIMITS } from "../../src/agent/control/index.ts";
import { AGENT_VERBS } from "../../src/verbs/index.ts";
import { makePlace, startFakeAgent } from "./processes.ts";

const HELLO = `${JSON.stringify({ hello: { protocol: 1, version: "0.0.0" } })}\n`;
const clock = new RealClock();

/** Sends bytes and resolves with what came back when the agent has closed the connection. */
function sayUntilClosed(socketPath: string, bytes: string): Promise<string[]> {
  return new Promise((done) => {
    const socket = connect(socketPath);
    let said = "";
    socket.on("data", (part) => {
      said += part.toString();
    });
    socket.on("error", () => undefined);
    socket.once("close", () => done(said.trimEnd().split("\n")));
    socket.write(bytes);
  });
}

async function connectTo(home: string): Promise<CallClient<typeof AGENT_VERBS>> {
  const socket = new AgentHome(home).readRecord()?.socket ?? "";
  const client = await connectAgent(socket, AGENT_VERBS, { version: "0.0.0", clock, deadlineMs: 5000 });
  if (client === undefined) throw new Error("No agent answers.");
  return client;
}

describe("the agent's process", () => {
  test("lives on when what it says finds no room on the disk", () => {
    const { home } = makePlace();
    const module = JSON.stringify(new URL("../../src/agent/run-agent.ts", import.meta.url).href);
    const script = `(await import(${module})).settleProcess();
console.error("said"); console.log("said"); process.emitWarning("said");
setTimeout(() => process.exit(7), 20);`;
    const full = openSync("/dev/full", "w");
    const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", full, full],
      env: { ...process.env, RUNNEL_HOME: home, NODE_OPTIONS: "" },
    });
    closeSync(full);
    expect(status).toBe(7);
  });

  test("listens on a socket of its user alone and says where", async () => {
    const { home } = makePlace();
    const { firstLine } = startFakeAgent(home);
    expect(await firstLine).toBe("running");
    const record = new AgentHome(home).readRecord();
    expect(record?.socket).toBe(join(home, "agent.sock"));
    expect(statSync(join(home, "agent.sock")).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  test("runs once, however many are started together", async () => {
    const { home } = makePlace();
    const started = [1, 2, 3].map(() => startFakeAgent(home));
    const said = await Promise.all(started.map(({ firstLine }) => firstLine));
    expect(said.toSorted()).toEqual(["elsewhere", "elsewhere", "running"]);
    const running = started[said.indexOf("running")];
    expect(new AgentHome(home).readRecord()?.pid).toBe(running?.child.pid);
  });

  test("follows one that was killed, over its socket and its record", async () => {
    const { home } = makePlace();
    const first = startFakeAgent(home);
    await first.firstLine;
    first.child.kill("SIGKILL");
    await first.exitCode;
    expect(existsSync(join(home, "agent.sock"))).toBe(true);
    const second = startFakeAgent(home);
    expect(await second.firstLine).toBe("running");
    (await connectTo(home)).close();
  });

  test("takes over from one that is just ending", async () => {
    const { home } = makePlace();
    const first = startFakeAgent(home);
    await first.firstLine;
    first.child.kill("SIGTERM");
    const second = startFakeAgent(home);
    expect(await first.exitCode).toBe(0);
    expect(["running", "elsewhere"]).toContain(await second.firstLine);
  });

  test("tells of the drives that a killed one left", async () => {
    const { home, mountpoint } = makePlace();
    const first = startFakeAgent(home);
    await first.firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/docs", mountpoint, mode: "sync" });
    first.child.kill("SIGKILL");
    await first.exitCode;
    const second = startFakeAgent(home);
    await second.firstLine;
    const next = await connectTo(home);
    const lost = { url: "ws://127.0.0.1:1/docs", mountpoint };
    expect((await next.ask("status", {})).lost).toEqual([lost]);
    expect(await next.ask("unmount", { mountpoint, force: false })).toEqual({
      unmounted: lost,
      wasLost: true,
      unsentFiles: null,
      unsentNames: null,
    });
    expect((await next.ask("status", {})).lost).toEqual([]);
    next.close();
  });

  test("maps a drive that a killed one left with the options that it had, unless others are given", async () => {
    const { home, mountpoint } = makePlace();
    const url = "ws://127.0.0.1:1/docs";
    const kept = (): unknown => JSON.parse(readFileSync(join(home, "mounts.json"), "utf8"));
    for (const [asked, cacheBytes] of [
      [{ cacheBytes: 5_000_000, mapOwner: false }, 5_000_000],
      [{}, 5_000_000],
      [{ cacheBytes: 6_000_000 }, 6_000_000],
    ] as const) {
      const agent = startFakeAgent(home);
      await agent.firstLine;
      const client = await connectTo(home);
      await client.ask("mount", { url, mountpoint, mode: "sync", ...asked });
      expect(kept()).toMatchObject([{ url, mountpoint, options: { cacheBytes, mapOwner: false } }]);
      client.close();
      agent.child.kill("SIGKILL");
      await agent.exitCode;
    }
  });

  test("keeps a drive until a person unmounts it: another agent maps it again, with the settings it had", async () => {
    const { home, mountpoint } = makePlace();
    const url = "ws://127.0.0.1:1/docs";
    const place = { url, mountpoint };
    const begin = async (): Promise<[ReturnType<typeof startFakeAgent>, Awaited<ReturnType<typeof connectTo>>]> => {
      const agent = startFakeAgent(home);
      await agent.firstLine;
      return [agent, await connectTo(home)];
    };
    const [first, one] = await begin();
    await one.ask("mount", { ...place, mode: "sync", keep: true });
    expect((await one.ask("set", { mountpoint, cacheBytes: 7_000_000 })).drive).toMatchObject({
      ...place,
      cacheLimitBytes: 7_000_000,
      isKept: true,
    });
    await expect(one.ask("set", { mountpoint, cacheBytes: 10 })).rejects.toMatchObject({ kind: "Invalid" });
    one.close();
    first.child.kill("SIGTERM");
    expect(await first.exitCode).toBe(0);

    const [second, two] = await begin();
    expect(await two.ask("status", {})).toMatchObject({ mounts: [], lost: [], resting: [place] });
    expect(await two.ask("reconnect", {})).toEqual({ mapped: [place], failed: [] });
    const { mounts, resting } = await two.ask("status", {});
    expect(mounts).toMatchObject([{ ...place, cacheLimitBytes: 7_000_000, isKept: true }]);
    expect(resting).toEqual([]);
    expect(await two.ask("reconnect", {})).toEqual({ mapped: [], failed: [] });
    two.close();
    second.child.kill("SIGKILL");
    await second.exitCode;

    const [third, three] = await begin();
    expect(await three.ask("reconnect", {})).toEqual({ mapped: [place], failed: [] });
    await three.ask("unmount", { mountpoint, force: false });
    three.close();
    third.child.kill("SIGTERM");
    await third.exitCode;
    const [, four] = await begin();
    expect(await four.ask("status", {})).toMatchObject({ mounts: [], lost: [], resting: [] });
    four.close();
  });

  test("opens nothing that lies outside of a drive", async () => {
    const { home, mountpoint } = makePlace();
    const agent = startFakeAgent(home);
    await agent.firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/docs", mountpoint, mode: "sync" });
    for (const path of ["..", "../../etc/passwd", "/etc/passwd", "a//b", "a/./b", "a/"])
      await expect(client.ask("open", { mountpoint, path })).rejects.toMatchObject({ kind: "Invalid" });
    await expect(client.ask("open", { mountpoint: home, path: "a" })).rejects.toMatchObject({ kind: "NotFound" });
    client.close();
  });

  test.each([
    ["kept", "resting", true],
    ["lost", "lost", false],
  ] as const)(
    "maps a %s drive again later when it cannot now, and forgets it when asked",
    async (_, list, isResting) => {
      const { home, mountpoint } = makePlace();
      const record = { url: "ws://127.0.0.1:1/nowhere", mountpoint, isResting };
      mkdirSync(home, { mode: 0o700 });
      writeFileSync(join(home, "mounts.json"), JSON.stringify([record]));
      const agent = startFakeAgent(home);
      await agent.firstLine;
      const client = await connectTo(home);
      const place = { url: record.url, mountpoint };
      expect(await client.ask("reconnect", {})).toEqual({
        mapped: [],
        failed: [{ ...place, sentence: "The server cannot be reached." }],
      });
      expect((await client.ask("status", {}))[list]).toEqual([place]);
      await client.ask("unmount", { mountpoint, force: false });
      expect((await client.ask("status", {}))[list]).toEqual([]);
      expect(JSON.parse(readFileSync(join(home, "mounts.json"), "utf8"))).toEqual([]);
      client.close();
    },
  );

  test("unmounts and leaves neither socket nor record when it ends", async () => {
    const { home, mountpoint } = makePlace();
    const { firstLine, child, exitCode } = startFakeAgent(home);
    await firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/busy", mountpoint, mode: "sync" });
    client.close();
    child.kill("SIGTERM");
    expect(await exitCode).toBe(0);
    expect(existsSync(join(home, "agent.sock"))).toBe(false);
    expect(existsSync(join(home, "agent.json"))).toBe(false);
    expect(JSON.parse(readFileSync(join(home, "mounts.json"), "utf8"))).toEqual([]);
  });

  test("ends by itself when it has nothing to do", async () => {
    const { home } = makePlace();
    const { firstLine, exitCode } = startFakeAgent(home, 100);
    await firstLine;
    expect(await exitCode).toBe(0);
  });

  test("stays while a drive is mounted, and ends after it", async () => {
    const { home, mountpoint } = makePlace();
    const { firstLine, exitCode } = startFakeAgent(home, 500);
    await firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/docs", mountpoint, mode: "sync" });
    client.close();
    // Each takes some 200 ms to start.
    for (let run = 0; run < 4; run += 1) expect(await startFakeAgent(home).firstLine).toBe("elsewhere");
    const again = await connectTo(home);
    await again.ask("unmount", { mountpoint, force: false });
    again.close();
    expect(await exitCode).toBe(0);
  });

  test("says that a damaged record is none, and starts", async () => {
    const { home } = makePlace();
    new AgentHome(home).make();
    writeFileSync(join(home, "agent.json"), "{");
    writeFileSync(join(home, "agent.sock"), "no socket");
    const { firstLine } = startFakeAgent(home);
    expect(await firstLine).toBe("running");
  });
});

describe("the control socket", () => {
  test.each<[string, string]>([
    ["is not JSON", `${HELLO}hello\n`],
    ["is no message", `${HELLO}{"id":1,"question":{"verb":"status"}}\n`],
    ["comes before the hello", `{"id":1,"request":{"verb":"status"}}\n`],
    ["is too long", `${HELLO}${" ".repeat(CONTROL_LIMITS.requestLineBytes + 1)}`],
  ])("is closed when a line %s", async (_, bytes) => {
    const { home } = makePlace();
    await startFakeAgent(home).firstLine;
    const said = await sayUntilClosed(join(home, "agent.sock"), bytes);
    // The agent said its own hello, and gave no answer.
    expect(said.filter((line) => line !== "").map((line) => Object.keys(JSON.parse(line) as object))).toEqual([
      ["hello"],
    ]);
    (await connectTo(home)).close();
  });

  test.each([
    ["an unknown verb", `{"id":1,"request":{"verb":"dance"}}\n`, "Unsupported"],
    ["a request that lacks a field", `{"id":1,"request":{"verb":"flush","applied":true}}\n`, "Invalid"],
  ])("answers %s, and the next request", async (_, bytes, kind) => {
    const { home } = makePlace();
    await startFakeAgent(home).firstLine;
    const next = `{"id":2,"request":{"verb":"stop","force":false}}\n`;
    const said = await sayUntilClosed(join(home, "agent.sock"), `${HELLO}${bytes}${next}`);
    expect(said.slice(1).map((line) => JSON.parse(line) as unknown)).toEqual([
      { id: 1, error: expect.objectContaining({ kind }) },
      { id: 2, result: { unmounted: [], unsentFiles: 0, unsentNames: 0 } },
    ]);
  });

  test("is closed for a face of another control version, after the agent's hello", async () => {
    const { home } = makePlace();
    await startFakeAgent(home).firstLine;
    const said = await sayUntilClosed(join(home, "agent.sock"), `{"hello":{"protocol":2,"version":"9.0.0"}}\n`);
    expect(JSON.parse(said[0] ?? "")).toMatchObject({ hello: { protocol: 1, version: "0.0.0" } });
  });

  test("sends statistics until they are cancelled", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/docs", mountpoint, mode: "sync" });
    const enough = new AbortController();
    let parts = 0;
    await client.ask(
      "watch",
      { intervalMs: 100 },
      ({ mounts }) => {
        expect(mounts[0]?.statistics.savedPercent).toBe(90);
        parts += 1;
        if (parts === 3) enough.abort();
      },
      enough.signal,
    );
    expect(parts).toBeGreaterThanOrEqual(3);
    client.close();
  });
});

describe("a view of the agent", () => {
  test("begins with a snapshot of at most 32 KB and goes on with changes, at most four a second", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/moving", mountpoint, mode: "sync" });
    const enough = new AbortController();
    const parts: unknown[] = [];
    const beganMs = clock.bootMs();
    const wants: ("drives" | "transfers" | "lately")[] = ["drives", "transfers", "lately"];
    await client.ask(
      "view",
      { wants },
      (part) => {
        parts.push(part);
        if (parts.length === 6) enough.abort();
      },
      enough.signal,
    );
    expect(clock.bootMs() - beganMs).toBeGreaterThan(1000);
    expect(parts[0]).toMatchObject({
      snapshot: {
        head: { state: "working" },
        lists: { drives: [{ key: mountpoint }], lately: [{ kind: "mounted", sentence: "The drive was mounted." }] },
        omitted: { transfers: expect.any(Number) },
      },
    });
    for (const part of parts) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThanOrEqual(32 * 1024);
    client.close();
  });

  test("that nobody reads costs the agent no memory, and ends with its connection", async () => {
    const { home, mountpoint } = makePlace();
    const { child, firstLine } = startFakeAgent(home);
    await firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/moving", mountpoint, mode: "sync" });
    const socket = connect(join(home, "agent.sock"));
    socket.write(`${HELLO}{"id":1,"request":{"verb":"view","wants":["transfers"]}}\n`);
    // Read once, and never again.
    await new Promise((done) => socket.once("data", done));
    socket.pause();
    const residentKiB = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]);
    const before = residentKiB();
    for (let count = 0; count < 30; count++) {
      await client.ask("savings", { limit: 1 });
      await sleep(clock, 100);
    }
    expect(residentKiB() - before).toBeLessThan(32 * 1024);
    socket.destroy();
    client.close();
  }, 60_000);
});

describe("the history of the agent", () => {
  test("outlives an agent that is killed while it records", async () => {
    const { home, mountpoint } = makePlace();
    const url = "ws://127.0.0.1:1/moving";
    let sent = 0;
    for (let life = 0; life < 3; life++) {
      const agent = startFakeAgent(home);
      await agent.firstLine;
      const client = await connectTo(home);
      await client.ask("mount", { url, mountpoint, mode: "sync" });
      const { total } = await client.ask("savings", { limit: 1 });
      expect(total.sentBytes).toBeGreaterThan(sent);
      sent = total.sentBytes;
      const { activity } = await client.ask("activity", { limit: 500 });
      expect(activity.length).toBeGreaterThanOrEqual(life + 1);
      agent.child.kill("SIGKILL");
      await agent.exitCode;
    }
  }, 60_000);

  test("is shown, by day and folder, and as rows for a spreadsheet, also once the drive is unmounted", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const client = await connectTo(home);
    await client.ask("mount", { url: "ws://127.0.0.1:1/moving", mountpoint, mode: "sync" });
    await client.ask("unmount", { mountpoint, force: false });
    const { today, total, rows } = await client.ask("savings", { by: "folder", limit: 10 });
    expect(today).toEqual(total);
    expect(rows).toMatchObject([{ mountpoint, folder: "Photos", fromMs: null, savings: { savedPercent: 90 } }]);
    expect((await client.ask("savings", { by: "day", limit: 10 })).rows).toHaveLength(1);
    let csv = "";
    await client.ask("savingsCsv", { sinceMs: 0 }, (part) => void (csv += part.csv));
    expect(csv.split("\r\n")).toHaveLength(3);
    const { activity, next } = await client.ask("activity", { limit: 1 });
    expect(activity).toMatchObject([{ kind: "unmounted", sentence: "The drive was unmounted." }]);
    const rest = await client.ask("activity", { limit: 10, before: next ?? 0 });
    expect(rest).toMatchObject({ activity: [{ kind: "mounted" }], next: null });
    client.close();
  });
});
