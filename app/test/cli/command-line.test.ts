import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { loadedModules } from "@runnel/shared/test/host/loaded-modules.ts";
import { Command } from "commander";
import { buildProgram, runCommandLine } from "../../src/cli/command-line.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { Output } from "../../src/cli/output.ts";
import { AGENT_VERBS } from "../../src/verbs/index.ts";
import type { AgentVerb } from "../../src/verbs/verb.ts";
import { AgentHome } from "../../src/agent/control/index.ts";
import { makePlace, type Ran, runnel, startFakeAgent, startSleeper, stopAgent } from "../control/processes.ts";

const URL_OF = (volume: string): string => `ws://127.0.0.1:7473/${volume}`;

const VERBS = (await buildProgram(new Output(false))).commands.map((verb) => verb.name());

/** Runs a command that asks no agent, in this process. */
async function here(...args: string[]): Promise<Ran> {
  const ran = { stdout: "", stderr: "" };
  const sink = (name: "stdout" | "stderr"): { write(output: string | Uint8Array): void } => ({
    write: (output) => {
      ran[name] += output.toString();
    },
  });
  const code = await runCommandLine(args, { stdout: sink("stdout"), stderr: sink("stderr") });
  return { code, ...ran };
}

/** The one object on stdout; throws when there is anything else. */
function jsonOf(ran: Ran): Record<string, unknown> {
  expect(ran.stdout.endsWith("}\n")).toBe(true);
  return JSON.parse(ran.stdout) as Record<string, unknown>;
}

async function withAgent(): Promise<{ home: string; mountpoint: string }> {
  const place = makePlace();
  expect(await startFakeAgent(place.home).firstLine).toBe("running");
  return place;
}

describe("the commands", () => {
  test("are called as their table says, which has those of all verbs of the agent", async () => {
    expect(VERBS).toEqual(Object.keys(COMMANDS));
    const verbs = new Command().enablePositionalOptions();
    for (const { addCommand } of Object.values<AgentVerb>(AGENT_VERBS)) addCommand?.(verbs, new Output(false));
    expect(VERBS).toEqual(expect.arrayContaining(verbs.commands.map((verb) => verb.name())));
  });

  test("load no wire, no server and no other command before they are asked for", async () => {
    const loaded = await loadedModules(new URL("../../src/cli/command-line.ts", import.meta.url).href);
    const flush = await loadedModules(new URL("../../src/verbs/flush.ts", import.meta.url).href);
    expect(
      loaded.concat(flush).filter((url) => /node_modules\/ws\/|protocol\/connection|server\/src/.test(url)),
    ).toEqual([]);
    expect(loaded.filter((url) => url.includes("app/src/verbs/"))).toEqual([]);
  });
});

describe("help", () => {
  test.each(VERBS)("of %s begins with an example that names it", async (verb) => {
    const { code, stdout, stderr } = await here(verb, "--help");
    expect(stdout).toMatch(new RegExp(`^Examples?:\n  runnel ${verb}\\b`));
    expect(stdout).toContain("--json");
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("of the whole begins with an example and lists the verbs", async () => {
    const { code, stdout } = await here("--help");
    expect(stdout).toMatch(/^Example:\n {2}runnel mount /);
    expect(stdout).toContain("  unmount ");
    expect(stdout).not.toContain("  agent ");
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(code).toBe(0);
  });

  test("is printed for find among the words of a predicate too", async () => {
    const { code, stdout } = await here("find", "/x", "-name", "a", "--help");
    expect(stdout).toMatch(/^Examples:\n {2}runnel find /);
    expect(code).toBe(0);
  });

  test("--version prints the version", async () => {
    const { home } = makePlace();
    expect(await runnel(home, "--version")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});

describe("a command that is used wrongly", () => {
  test.each<[string[], string]>([
    [[], "No verb was given. Run runnel --help to see them."],
    [["dance"], "There is no verb dance. Run runnel --help to see how it is used."],
    [["mount"], "URL is missing. Run runnel mount --help to see how it is used."],
    [["mount", "ws://h/v"], "MOUNTPOINT is missing. Run runnel mount --help to see how it is used."],
    [["unmount", "a", "b"], "There are too many arguments. Run runnel unmount --help to see how it is used."],
    [["invite", "docs", "--expires", "soon"], '"soon" is no time. Write a number and m, h or d, at most 366d: 7d.'],
    [["login", "x", "--proxy", "proxy:3128"], "That is not the address of a proxy. Write http://HOST:PORT."],
    [["serve", "--volume", "a=/srv", "--cert", "c.pem"], "--cert and --key go together. Name both files."],
    [["status", "--loud"], "There is no option --loud. Run runnel status --help to see how it is used."],
    [
      ["mount", "ws://127.0.0.1:7473/docs", "/mnt", "--nfs", "--fskit"],
      "Option --nfs does not go with another one that is given. Run runnel mount --help to see how it is used.",
    ],
    [
      ["mount", "a", "b", "--cache"],
      "Option --cache <dir> needs a value. Run runnel mount --help to see how it is used.",
    ],
    [
      ["completion", "tcsh"],
      'SHELL is one of: bash, zsh, fish; not "tcsh". Run runnel completion --help to see how it is used.',
    ],
    [
      ["right", "docs", "ada", "own"],
      'RIGHT is one of: read, write, none; not "own". Run runnel right --help to see how it is used.',
    ],
    [
      ["start-at-login", "status"],
      'SWITCH is one of: on, off; not "status". Run runnel start-at-login --help to see how it is used.',
    ],
    [
      ["start-at-login", ""],
      'SWITCH is one of: on, off; not "". Run runnel start-at-login --help to see how it is used.',
    ],
    [
      ["start-at-login", "on", "off"],
      "There are too many arguments. Run runnel start-at-login --help to see how it is used.",
    ],
    [["reconnect", "--home", ""], "A path is empty. Name a folder."],
    [
      ["reconnect", "--home"],
      "Option --home <folder> needs a value. Run runnel reconnect --help to see how it is used.",
    ],
    [["reconnect", "/drive"], "There are too many arguments. Run runnel reconnect --help to see how it is used."],
    [["serve"], "There is nothing to serve. Name a folder: --volume docs=/srv/docs, or --offer /srv."],
    [["serve", "--volume", "docs"], '"docs" names no volume. Write NAME=FOLDER: docs=/srv/docs.'],
    [["serve", "--volume", "=/srv"], '"=/srv" names no volume. Write NAME=FOLDER: docs=/srv/docs.'],
    [
      ["serve", "--volume", "a=/", "--listen", "7473"],
      '"7473" is not a place to listen. Write HOST:PORT: 127.0.0.1:7473.',
    ],
  ])("%j ends with 2 and says so", async (args, sentence) => {
    expect(await here(...args)).toEqual({ code: 2, stdout: "", stderr: `${sentence}\n` });
  });

  test("is told as an object with --json", async () => {
    const ran = await here("mount", "--json");
    const message = "URL is missing. Run runnel mount --help to see how it is used.";
    expect(jsonOf(ran)).toEqual({ error: { kind: "Invalid", message } });
    expect(ran).toMatchObject({ code: 2, stderr: `${message}\n` });
  });

  test("ends its process with 2", async () => {
    const { home } = makePlace();
    expect(await runnel(home, "dance")).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("login", () => {
  test("says what the device may do and what to type next; a refusal ends with 4", async () => {
    const { home } = await withAgent();
    expect(await runnel(home, "login", "runnel://x-good", "--name", "laptop")).toEqual({
      code: 0,
      stdout:
        "The server knows this device as laptop; it may read.\n" +
        "Map the volume: runnel mount wss://127.0.0.1:7473/docs MOUNTPOINT\n",
      stderr: "",
    });
    expect(await runnel(home, "login", "runnel://x-bad")).toMatchObject({ code: 4, stdout: "" });
  });
});

describe("logout", () => {
  test("names a server by its place or by a volume, and is refused while a drive of it is mounted", async () => {
    const { home, mountpoint } = await withAgent();
    const url = "wss://127.0.0.1:7473/docs";
    for (const server of ["127.0.0.1:7473", url, "wss://127.0.0.1:7473"])
      expect(jsonOf(await runnel(home, "logout", server, "--json"))).toEqual({
        server: "127.0.0.1:7473",
        device: "here",
        isTokenGone: true,
      });
    expect(await runnel(home, "logout", "files.example.org")).toMatchObject({ code: 1, stdout: "" });
    expect(await runnel(home, "mount", url, mountpoint)).toMatchObject({ code: 0 });
    expect(await runnel(home, "logout", url)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `${mountpoint} is a drive of 127.0.0.1:7473. Unmount it first: runnel unmount ${mountpoint}\n`,
    });
    expect(await runnel(home, "unmount", mountpoint)).toMatchObject({ code: 0 });
    expect(await runnel(home, "logout", url)).toMatchObject({ code: 0 });
  });

  test.each(["", "a b", "ws://127.0.0.1:7473", "runnel://a:1/docs#s", "a:1?x", "user@a:1", "a:port"])(
    "of %j, which is no server, ends with 2",
    async (server) => {
      const { home } = await withAgent();
      expect(await runnel(home, "logout", server)).toMatchObject({ code: 2, stdout: "" });
    },
  );
});

describe("a drive", () => {
  test("is mounted, shown, flushed, measured and unmounted", async () => {
    const { home, mountpoint } = await withAgent();
    const url = URL_OF("docs");
    expect(await runnel(home, "mount", url, mountpoint)).toEqual({
      code: 0,
      stdout: `Mounted ${url} at ${mountpoint}.\n`,
      stderr: "",
    });
    expect((await runnel(home, "status")).stdout).toBe(
      `${mountpoint}  ${url}\n  Connected. Everything is on the server.\n`,
    );
    expect(await runnel(home, "flush", mountpoint, "--applied")).toMatchObject({ code: 0 });
    const stats = await runnel(home, "stats", mountpoint);
    expect(stats.stdout).toContain("Saved: 90 %");
    expect(await runnel(home, "unmount", mountpoint)).toMatchObject({ code: 0, stdout: `Unmounted ${mountpoint}.\n` });
    expect(await runnel(home, "unmount", mountpoint)).toMatchObject({ code: 1, stdout: "" });
  });

  test("has what is unsent listed, copied and given up; flush names it, and no more is given up than was named", async () => {
    const { home, mountpoint } = await withAgent();
    const url = URL_OF("full");
    expect(await runnel(home, "mount", url, mountpoint)).toMatchObject({ code: 0 });
    const flushed = await runnel(home, "flush", mountpoint);
    expect(flushed.code).toBe(0);
    expect(flushed.stdout).toContain("2 files are not: runnel unsent says why.");
    const listed = (await runnel(home, "unsent")).stdout;
    expect(listed).toContain(`${mountpoint}/folder/b.txt  1000 B, of 2026-09-21`);
    expect(listed).toContain("The server's disk is full.");
    expect(await runnel(home, "unsent", "--discard")).toMatchObject({ code: 2, stdout: "" });
    expect(await runnel(home, "unsent", mountpoint, "--discard")).toMatchObject({ code: 1, stdout: "" });
    const folder = join(home, "rescued");
    const both = jsonOf(await runnel(home, "unsent", "--export", folder, "--discard", "--all", "--json"));
    // Files that could not be copied are kept.
    expect(both).toMatchObject({
      unsent: [
        { path: "a.txt", url, mountpoint, exportedTo: join(folder, "a.txt"), isWhole: true, isDiscarded: true },
        { path: "folder/b.txt", exportedTo: null, reason: "There is no room.", isDiscarded: false },
      ],
    });
    expect(jsonOf(await runnel(home, "unsent", "--json"))).toMatchObject({ unsent: [{ path: "folder/b.txt" }] });
    expect(await runnel(home, "unsent", mountpoint, "--discard", "--all")).toMatchObject({ code: 0 });
    expect((await runnel(home, "unsent")).stdout).toBe("Nothing is unsent.\n");
  });

  test("is told as one object with --json", async () => {
    const { home, mountpoint } = await withAgent();
    const url = URL_OF("docs");
    const place = { url, mountpoint };
    expect(jsonOf(await runnel(home, "mount", url, mountpoint, "--json"))).toMatchObject({ mount: place });
    expect(jsonOf(await runnel(home, "status", "--json"))).toMatchObject({
      agent: { version: "0.0.0", home },
      mounts: [{ ...place, seq: 7 }],
      lost: [],
    });
    expect(jsonOf(await runnel(home, "flush", mountpoint, "--json"))).toEqual({
      flushed: { ...place, applied: false, unsent: [] },
    });
    const reset = jsonOf(await runnel(home, "stats", "--reset", "--json"));
    expect(reset).toMatchObject({ mounts: [{ ...place, statistics: { applications: { writtenBytes: 1000 } } }] });
    const after = jsonOf(await runnel(home, "stats", mountpoint, "--json"));
    expect(after).toMatchObject({ mounts: [{ statistics: { applications: { writtenBytes: 0 } } }] });
    expect(jsonOf(await runnel(home, "unmount", mountpoint, "--json"))).toEqual({
      unmounted: place,
      wasLost: false,
      unsentFiles: 0,
      unsentNames: 0,
    });
    expect(jsonOf(await runnel(home, "stop", "--json"))).toEqual({
      stopped: true,
      unmounted: [],
      unsentFiles: 0,
      unsentNames: 0,
    });
  });

  test("that programs use stays, unless forced", async () => {
    const { home, mountpoint } = await withAgent();
    await runnel(home, "mount", URL_OF("busy"), mountpoint);
    expect(await runnel(home, "unmount", mountpoint)).toEqual({
      code: 1,
      stdout: "",
      stderr: "Programs use the drive.\n",
    });
    expect((await runnel(home, "stop")).code).toBe(1);
    expect((await runnel(home, "unmount", mountpoint, "--force")).code).toBe(0);
  });

  test("is refused where one is, and where there is no empty folder", async () => {
    const { home, mountpoint } = await withAgent();
    await runnel(home, "mount", URL_OF("docs"), mountpoint);
    const again = await runnel(home, "mount", URL_OF("docs"), mountpoint, "--json");
    expect(again.code).toBe(1);
    expect(jsonOf(again)).toMatchObject({ error: { kind: "Exists" } });
    const other = await runnel(home, "mount", URL_OF("photos"), mountpoint);
    expect(other.stderr).toBe(
      `${mountpoint} is the drive of ${URL_OF("docs")}. Unmount it first: runnel unmount ${mountpoint}\n`,
    );
    const full = join(mountpoint, "..", "full");
    mkdirSync(full);
    writeFileSync(join(full, "file"), "");
    expect((await runnel(home, "mount", URL_OF("docs"), full)).stderr).toBe(
      `${full} is not empty. Choose an empty folder.\n`,
    );
  });

  test.each<[string, string[], number, string]>([
    ["whose server cannot be reached", [URL_OF("nowhere")], 3, "Unreachable"],
    ["whose server refuses", [URL_OF("refused")], 4, "Denied"],
    ["without a volume", ["ws://127.0.0.1:7473"], 2, "Invalid"],
    ["of another protocol", ["http://127.0.0.1:7473/docs"], 2, "Invalid"],
  ])("%s ends with its exit code", async (_, [url = "", ...options], code, kind) => {
    const { home, mountpoint } = await withAgent();
    const ran = await runnel(home, "mount", url, mountpoint, ...options, "--json");
    expect(ran.code).toBe(code);
    expect(jsonOf(ran)).toMatchObject({ error: { kind } });
    expect(ran.stderr).toMatch(/^[^\n]+\.\n$/);
    expect(jsonOf(await runnel(home, "status", "--json"))).toMatchObject({ mounts: [], lost: [] });
  });
});

describe("find", () => {
  test("gives one path a line, and hands over every word of the predicate", async () => {
    const { home } = await withAgent();
    const words = ["-name", "*.txt", "(", "-size", "+1M", "or", "not", "-type", "d", ")"];
    const ran = await runnel(home, "find", URL_OF("docs"), ...words);
    const lines = ran.stdout.trimEnd().split("\n");
    expect(lines[0]).toBe(JSON.stringify(words));
    expect(lines).toHaveLength(2501);
  });

  test("gives one object with --json, wherever that stands", async () => {
    const { home, mountpoint } = await withAgent();
    await runnel(home, "mount", URL_OF("docs"), mountpoint);
    for (const args of [
      ["--json", mountpoint, "-type", "f"],
      [mountpoint, "-type", "f", "--json"],
    ]) {
      const { entries } = jsonOf(await runnel(home, "find", ...args)) as { entries: { path: string }[] };
      expect(entries).toHaveLength(2501);
      expect(entries[0]?.path).toBe('["-type","f"]');
    }
  });

  test("ends with 2 for a predicate that is none", async () => {
    const { home } = await withAgent();
    expect(await runnel(home, "find", URL_OF("docs"), "-bad")).toMatchObject({
      code: 2,
      stderr: "There is no test -bad.\n",
    });
  });
});

describe("remove", () => {
  test("takes no whole drive, and nothing outside of one", async () => {
    const { home, mountpoint } = await withAgent();
    await runnel(home, "mount", URL_OF("docs"), mountpoint);
    expect(await runnel(home, "remove", mountpoint)).toMatchObject({ code: 2, stderr: "This is the whole drive.\n" });
    const elsewhere = join(mountpoint, "..", "elsewhere");
    expect(await runnel(home, "remove", elsewhere)).toMatchObject({ code: 1, stdout: "" });
  });
});

describe("the agent", () => {
  test("is not started to say that there is nothing", async () => {
    const { home } = makePlace();
    expect(jsonOf(await runnel(home, "status", "--json"))).toEqual({
      head: { state: "fine", sentence: "No drives are mounted.", next: expect.any(String), act: "add" },
      agent: null,
      mounts: [],
      resting: [],
      lost: [],
    });
    expect(jsonOf(await runnel(home, "stats", "--json"))).toEqual({ mounts: [] });
    expect(jsonOf(await runnel(home, "stop", "--json"))).toEqual({
      stopped: false,
      unmounted: [],
      unsentFiles: 0,
      unsentNames: 0,
    });
    expect(new AgentHome(home).readRecord()).toBeUndefined();
  });

  test("is started by the first command that needs it, once for several", async () => {
    const { home, mountpoint } = makePlace();
    try {
      const ran = await Promise.all([1, 2, 3].map(() => runnel(home, "flush", mountpoint)));
      for (const { code, stderr } of ran) {
        expect(stderr).toBe(`Runnel has no drive at ${mountpoint}. Run "runnel status" to see the drives there are.\n`);
        expect(code).toBe(1);
      }
      const { agent } = jsonOf(await runnel(home, "status", "--json")) as { agent: { pid: number } };
      expect(agent.pid).toBe(new AgentHome(home).readRecord()?.pid);
    } finally {
      await stopAgent(home);
    }
  });

  test("that cannot start is told with the last line of its log", async () => {
    const { home, mountpoint } = makePlace();
    mkdirSync(join(home, "agent.lock"), { recursive: true, mode: 0o700 });
    const ran = await runnel(home, "flush", mountpoint);
    expect(ran.stderr).toBe(
      `The agent could not start: Runnel cannot lock ${home}/agent.lock. Set RUNNEL_HOME to a folder on a local disk. ` +
        `Its log is ${home}/agent.log.\n`,
    );
    expect(ran.code).toBe(1);
  });

  test("of another control version is named, and can be stopped", async () => {
    const { home } = makePlace();
    const agentHome = new AgentHome(home);
    agentHome.make();
    const { child, exitCode } = startSleeper(home);
    agentHome.writeRecord({ pid: child.pid ?? 0, socket: agentHome.socketPath(), started: "", version: "9.0.0" });
    const server = createServer((socket) => socket.end(`{"hello":{"protocol":2,"version":"9.0.0"}}\n`));
    await new Promise<void>((done) => {
      server.listen(agentHome.socketPath(), done);
    });
    const ran = await runnel(home, "status");
    expect(ran.stderr).toContain("The agent that runs is of Runnel 9.0.0, this command of");
    expect(ran.code).toBe(4);
    expect((await runnel(home, "stop")).code).toBe(0);
    expect(await exitCode).toBeNull();
    server.close();
  });
});

describe("completion", () => {
  test.each(["bash", "zsh", "fish"])("for %s names every verb", async (shell) => {
    const { stdout, code } = await here("completion", shell);
    for (const verb of ["serve", "mount", "unmount", "flush", "status", "stats", "find"])
      expect(stdout).toContain(verb);
    expect(code).toBe(0);
  });
});
