import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  rmdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { AgentHome, homeFolder } from "../../src/agent/control/host/agent-home.ts";
import { takeLock } from "../../src/agent/control/host/agent-lock.ts";
import { darwinSystem } from "../../src/agent/control/host/darwin/system.ts";
import { linuxSystem } from "../../src/agent/control/host/linux/system.ts";
import { LogFile } from "../../src/agent/control/host/log-file.ts";
import type { System } from "../../src/agent/control/host/system.ts";
import { windowsSystem } from "../../src/agent/control/host/windows/system.ts";
import { makeFolder } from "./processes.ts";

describe("the agent's home", () => {
  test.each<[string, System, Record<string, string>, string]>([
    ["Linux", linuxSystem, {}, "/users/ada/.local/state/runnel"],
    ["Linux", linuxSystem, { XDG_STATE_HOME: "/var/state" }, "/var/state/runnel"],
    ["Linux", linuxSystem, { XDG_STATE_HOME: "relative" }, "/users/ada/.local/state/runnel"],
    ["macOS", darwinSystem, {}, "/users/ada/Library/Application Support/Runnel"],
    ["Windows", windowsSystem, { LOCALAPPDATA: String.raw`D:\local` }, String.raw`D:\local\Runnel`],
  ])("on %s is where that wants it", (_, system, environment, folder) => {
    expect(homeFolder(environment, system, "/users/ada")).toBe(folder);
  });

  test.each<[string, System]>([
    ["Linux", linuxSystem],
    ["macOS", darwinSystem],
    ["Windows", windowsSystem],
  ])("is where RUNNEL_HOME says, on %s too", (_, system) => {
    const folder = makeFolder();
    expect(homeFolder({ RUNNEL_HOME: folder, LOCALAPPDATA: "/no" }, system, "/users/ada")).toBe(folder);
  });

  test.each<[string, System, string, string]>([
    ["Linux", linuxSystem, "docs/linux.md", "`~/.local/state/runnel`"],
    ["macOS", darwinSystem, "docs/macos.md", "`~/Library/Application Support/Runnel`"],
    ["Windows", windowsSystem, "docs/windows.md", "`%LOCALAPPDATA%\\Runnel`"],
  ])("is on %s where its page says that data stay", (_, system, page, folder) => {
    const said = folder.replaceAll("`", "").replace(/^~|%LOCALAPPDATA%/, "/users/ada");
    const { files } = system.paths;
    expect(homeFolder({ LOCALAPPDATA: "/users/ada" }, system, "/users/ada")).toBe(files.normalize(said));
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
    const removing = text.slice(text.search(/^#+ (Removing|Installing) it$/m));
    expect(removing.replaceAll(/\s+/g, " ")).toContain(folder);
  });

  test("is made for its user alone, and refused when others look into it", () => {
    const folder = join(makeFolder(), "deep", "home");
    new AgentHome(folder).make();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    writeFileSync(join(folder, "something"), "");
    chmodSync(folder, 0o755);
    expect(() => new AgentHome(folder).make()).toThrow(expect.objectContaining({ kind: "Denied" }));
  });

  const asRoot = process.getuid?.() === 0 ? test : test.skip;
  asRoot("is refused when it is another user's, or leads through a link of another user's", () => {
    const base = makeFolder();
    const [theirs, link] = [join(base, "theirs"), join(base, "link")];
    mkdirSync(theirs, { mode: 0o700 });
    chownSync(theirs, 65_534, 65_534);
    const mine = join(base, "mine");
    mkdirSync(mine, { mode: 0o700 });
    symlinkSync(mine, link);
    lchownSync(link, 65_534, 65_534);
    for (const folder of [theirs, link]) {
      const refused = { kind: "Denied", message: expect.stringContaining("belongs to another user") };
      expect(() => new AgentHome(folder).make()).toThrow(expect.objectContaining(refused));
    }
    expect(statSync(theirs).mode & 0o777).toBe(0o700);
  });

  test("puts the socket elsewhere when its own path is too long for one", () => {
    const base = makeFolder();
    const runtime = join(base, "run");
    mkdirSync(runtime);
    const long = new AgentHome(join(base, "h".repeat(120)), { XDG_RUNTIME_DIR: runtime });
    const path = long.socketPath();
    expect(path.startsWith(runtime)).toBe(true);
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(100);
    expect(long.socketPath()).toBe(path);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
    // A folder that others may enter is not ours to use.
    chmodSync(join(path, ".."), 0o755);
    expect(long.socketPath().startsWith(runtime)).toBe(false);
  });

  test("is locked by one at a time", () => {
    const path = join(makeFolder(), "agent.lock");
    const lock = takeLock(path);
    expect(lock).toBeDefined();
    expect(takeLock(path)).toBeUndefined();
    lock?.release();
    const next = takeLock(path);
    expect(next).toBeDefined();
    next?.release();
  });

  test("keeps the last two parts of its log", () => {
    const path = join(makeFolder(), "agent.log");
    const log = new LogFile(path, 10);
    for (const line of ["first line\n", "second line\n", "third\n"]) log.write(line);
    expect(readFileSync(path, "utf8")).toBe("third\n");
    expect(readFileSync(`${path}.1`, "utf8")).toBe("second line\n");
  });

  test("loses no line while the name of the older part cannot be had, and parts them later", () => {
    const path = join(makeFolder(), "agent.log");
    const log = new LogFile(path, 10);
    // Stands for a reader, on any system: no file takes the place of a folder.
    mkdirSync(`${path}.1`);
    for (const line of ["first line\n", "second line\n", "third\n"]) log.write(line);
    expect(readFileSync(path, "utf8")).toBe("first line\nsecond line\nthird\n");
    rmdirSync(`${path}.1`);
    for (const line of ["fourth\n", "fifth\n"]) log.write(line);
    expect(readFileSync(path, "utf8")).toBe("fifth\n");
    expect(readFileSync(`${path}.1`, "utf8")).toBe("first line\nsecond line\nthird\nfourth\n");
  });
});
