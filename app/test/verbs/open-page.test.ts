// runnel ui, with a real agent over fake mounts and a stand-in for the browser: what others see, and what a page may
// call.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { CallClient, RealClock, WsCarrier } from "@runnel/shared";
import { ask, dial, enterByFile, enterByLink, untilClosed } from "@runnel/shared/test/calls/bent-browser.ts";
import { connectAgent } from "../../src/agent/control/index.ts";
import { pageTable } from "../../src/agent/page-table.ts";
import { PAGE_PROTOCOL } from "@runnel/shared/page";
import { AGENT_VERBS } from "../../src/verbs/index.ts";
import { makePlace, runnel, runnelWith, startFakeAgent } from "../control/processes.ts";
import { standInBrowser } from "../page/stand-in.ts";

/** Asks the agent that runs, as the command line does. */
async function control(home: string): Promise<CallClient<typeof AGENT_VERBS>> {
  const settings = { version: "0.0.0", clock: new RealClock(), deadlineMs: 10_000 };
  const client = await connectAgent(join(home, "agent.sock"), AGENT_VERBS, settings);
  if (client === undefined) throw new Error("No agent listens.");
  return client;
}

/** A page session, for a link of the agent. */
async function enter(link: string): Promise<{ port: number; session: string }> {
  const { port, hash } = new URL(link);
  const { text } = await enterByLink(Number(port), hash.slice(1));
  return { port: Number(port), session: (JSON.parse(text) as { session: string }).session };
}

async function openClient(port: number, session: string): Promise<CallClient<typeof AGENT_VERBS>> {
  const { socket } = await dial(port);
  socket.send(JSON.stringify({ session }));
  const opened = await CallClient.open(new WsCarrier(socket), AGENT_VERBS, {
    hello: { protocol: PAGE_PROTOCOL, version: "page", features: [] },
    clock: new RealClock(),
    deadlineMs: 10_000,
    operation: "ask",
    sentences: { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." },
  });
  if (opened === undefined) throw new Error("The agent did not let the page in.");
  return opened.client;
}

test("a page may call these verbs, and may name no files of this machine", () => {
  const table = pageTable(AGENT_VERBS);
  expect(Object.keys(table).toSorted()).toEqual([
    "activity",
    "doctor",
    "evict",
    "find",
    "flush",
    "folder",
    "log",
    "login",
    "logout",
    "mount",
    "open",
    "openers",
    "pause",
    "pin",
    "reconnect",
    "remove",
    "resume",
    "savings",
    "savingsFile",
    "servers",
    "set",
    "settle",
    "startAtLogin",
    "stats",
    "status",
    "unmount",
    "unpin",
    "unsent",
    "view",
    "watch",
  ]);
  const refuses = (verb: string, request: object, field: object): void => {
    expect(table[verb]?.asks.safeParse(request).success).toBe(true);
    expect(table[verb]?.asks.safeParse({ ...request, ...field }).success).toBe(false);
  };
  const mount = { url: "wss://h:1/v", mountpoint: "/mnt/v", mode: "sync" };
  refuses("mount", mount, { secret: "/etc/shadow" });
  refuses("mount", mount, { cache: "/home/ada/.config" });
  refuses("find", { target: "/mnt/v", words: [] }, { secret: "/etc/shadow" });
  refuses("login", { invite: "runnel://x" }, { caFile: "/etc/shadow" });
  refuses("unsent", { paths: [], discards: false, all: false }, { exportTo: "/home/ada/.config" });
});

const onLinux = process.platform === "linux" ? describe : describe.skip;
onLinux("runnel ui", () => {
  test("starts the browser with a file; the ticket is in no command line, no environment and no output", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const browser = standInBrowser(join(mountpoint, "..", "bin"));
    const ran = await runnelWith(browser.env, home, "ui");
    expect(ran).toEqual({
      code: 0,
      stdout: "Runnel opens in your browser. If it does not, print a link: runnel ui --print\n",
      stderr: "",
    });
    const { seen } = browser;
    if (seen === undefined) throw new Error("No browser was started.");
    const { args, environment, processes, page } = seen;
    const [, enterUrl = "", ticket = ""] = /action="(http[^"]*)">\n.*value="([\w-]{43})"/.exec(page) ?? [];
    expect(ticket).toHaveLength(43);
    expect(args).toEqual([expect.stringMatching(/\/page\/open-1\.html$/)]);
    // The list has the agent and the command, and its path; not what is in the file.
    expect(processes).toContain("fake-agent.ts");
    expect(processes).toContain("runnel.mjs\nui\n");
    expect(processes).toContain(args[0]);
    for (const shown of [processes, environment, ran.stdout, args.join()]) expect(shown).not.toContain(ticket);
    const port = Number(new URL(enterUrl).port);
    const { status, text } = await enterByFile(port, ticket);
    expect(status).toBe(200);
    expect(existsSync(args[0] ?? "")).toBe(false);
    const session = /content="([\w-]{43})"/.exec(text)?.[1] ?? "";
    expect((await (await openClient(port, session)).ask("status", {})).agent.home).toBe(home);
  });

  test("prints a link with --print, whose ticket is good once", async () => {
    const { home } = makePlace();
    await startFakeAgent(home).firstLine;
    const { code, stdout } = await runnel(home, "ui", "--print");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}\n$/);
    const { port, hash } = new URL(stdout.trim());
    expect((await enterByLink(Number(port), hash.slice(1))).status).toBe(200);
    expect((await enterByLink(Number(port), hash.slice(1))).status).toBe(403);
  });

  test("says what to do when no browser can be opened", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const broken = standInBrowser(join(mountpoint, "..", "bin"), "exit 3");
    expect(await runnelWith(broken.env, home, "ui")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'No browser was opened: xdg-open has failed. Print a link, and open that yourself: "runnel ui --print".\n',
    });
  });

  test("tells programs the same as an object", async () => {
    const { home, mountpoint } = makePlace();
    await startFakeAgent(home).firstLine;
    const browser = standInBrowser(join(mountpoint, "..", "bin"));
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const printed = await runnel(home, "ui", "--print", "--json");
    const link = expect.stringMatching(/\/#[\w-]{43}$/);
    expect(JSON.parse(printed.stdout)).toEqual({ page: { url, link, isOpened: false } });
    const opened = await runnelWith(browser.env, home, "ui", "--json");
    expect(JSON.parse(opened.stdout)).toEqual({ page: { url, link: null, isOpened: true } });
  });

  test("has an agent that listens only once it was asked, at one port for all pages, and while one is open", async () => {
    const { home, mountpoint } = makePlace();
    const agent = startFakeAgent(home, 300);
    await agent.firstLine;
    const face = await control(home);
    expect(readdirSync(home)).not.toContain("page");
    const { opens } = await face.ask("openPage", { way: "link" });
    const { port, session } = await enter(opens);
    expect(new URL((await face.ask("openPage", { way: "file" })).url).port).toBe(String(port));
    const client = await openClient(port, session);
    const url = "ws://127.0.0.1:1/docs";
    await client.ask("mount", { url, mountpoint, mode: "sync" });
    const { ticket } = await client.ask("savingsFile", {});
    const csv = await ask(port, `/files/${ticket}`);
    expect(csv.headers["content-disposition"]).toMatch(/^attachment; filename="runnel-savings\.csv"/);
    expect(csv.text).toMatch(/^hour,server,drive,folder,read,/);
    for (const verb of ["stop", "openPage"] as const)
      await expect(client.ask(verb, {} as never)).rejects.toMatchObject({ kind: "Unsupported" });
    await client.ask("unmount", { mountpoint, force: false });
    face.close();
    // Longer than an agent stays that has nothing to do.
    const enough = new AbortController();
    let parts = 0;
    const count = (): void => {
      parts += 1;
      if (parts === 10) enough.abort();
    };
    await client.ask("watch", { intervalMs: 100 }, count, enough.signal);
    const { socket } = await dial(port);
    socket.send(JSON.stringify({ session }));
    const closed = untilClosed(socket);
    const again = await control(home);
    await again.ask("stop", { force: false });
    again.close();
    expect(await agent.exitCode).toBe(0);
    expect((await closed).code).toBe(4401);
    expect(readdirSync(join(home, "page"))).toEqual([]);
  });

  test("offers no download while no page is open", async () => {
    const { home } = makePlace();
    await startFakeAgent(home).firstLine;
    const face = await control(home);
    await expect(face.ask("savingsFile", {})).rejects.toMatchObject({ kind: "Unavailable" });
    face.close();
  });
});
