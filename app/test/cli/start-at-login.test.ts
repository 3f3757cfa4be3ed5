// The commands of a log-in, with a real agent and entries of the desktop in a folder of their own: `start-at-login`
// makes the entry, and `reconnect --home`, which is in it, maps the drives that are kept.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { AgentHome } from "../../src/agent/control/index.ts";
import { makeFolder, makePlace, type Ran, runnelWith, startFakeAgent, stopAgent } from "../control/processes.ts";

const URL = "ws://127.0.0.1:7473/docs";
const OFF = "Nothing of Runnel is started when you log in.";

describe("start-at-login", () => {
  let home: string;
  /** The entry of a desktop: there is no systemd of the user. */
  let place: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(() => {
    home = join(makeFolder(), 'home of" 50% $Ada');
    const folder = makeFolder();
    place = join(folder, "config", "autostart", "runnel-drives.desktop");
    writeFileSync(join(folder, "systemctl"), "#!/bin/sh\nexit 1\n");
    chmodSync(join(folder, "systemctl"), 0o755);
    env = { XDG_CONFIG_HOME: join(folder, "config"), PATH: `${folder}:${process.env["PATH"]}` };
  });
  afterEach(() => stopAgent(home));

  const command = (...args: string[]): Promise<Ran> => runnelWith(env, home, ...args);
  const startAtLogin = (...args: string[]): Promise<Ran> => command("start-at-login", ...args);

  test("sets it, and says what is set", async () => {
    const on = { code: 0, stdout: `The drives that are kept are mapped when you log in: ${place}\n`, stderr: "" };
    const off = { code: 0, stdout: `${OFF}\n`, stderr: "" };
    for (const args of [["on"], []]) expect(await startAtLogin(...args)).toEqual(on);
    expect(JSON.parse((await startAtLogin("--json")).stdout)).toEqual({ state: "on", place, obstacle: null });
    expect((await command("doctor")).stdout).toContain(`when you log in: ${place}`);
    expect(await startAtLogin("off")).toEqual(off);
    expect(existsSync(place)).toBe(false);
  });

  test("makes an entry that maps the kept drives of the home that it was asked in", async () => {
    await startAtLogin("on");
    await stopAgent(home);
    const { mountpoint } = makePlace();
    new AgentHome(home).writeMounts([{ url: URL, mountpoint, isResting: true }]);
    expect(await startFakeAgent(home).firstLine).toBe("running");
    const words = wordsOf(readFileSync(place, "utf8"));
    expect(words.slice(-3)).toEqual(["reconnect", "--home", home]);
    const elsewhere = makePlace().home;
    expect(await runnelWith({}, elsewhere, ...words.slice(2))).toMatchObject({
      code: 0,
      stdout: "Mapped 1 drive again.\n",
    });
    expect(existsSync(elsewhere)).toBe(false);
  });

  test("tells of another copy, and of an entry that is somebody else's, which it leaves", async () => {
    await startAtLogin("on");
    writeFileSync(place, readFileSync(place, "utf8").replace("Exec=", "Exec=/elsewhere/"));
    expect((await startAtLogin()).stdout).toBe(`Another copy of Runnel is started when you log in: ${place}\n`);
    expect((await command("doctor")).stdout).toContain("Start this one instead: runnel start-at-login on");
    const foreign = "[Desktop Entry]\nName=Something else\n";
    writeFileSync(place, foreign);
    const sentence = `Somebody else's entry is at ${place}. Look at it, and move it away.`;
    expect(await startAtLogin()).toEqual({ code: 0, stdout: `${OFF} ${sentence}\n`, stderr: "" });
    expect(await startAtLogin("on")).toEqual({ code: 1, stdout: "", stderr: `${sentence}\n` });
    expect((await startAtLogin("off")).code).toBe(0);
    expect(readFileSync(place, "utf8")).toBe(foreign);
  });

  test("says in a sentence why an entry cannot be made, or looked at, and ends with 1", async () => {
    const config = env["XDG_CONFIG_HOME"] ?? "";
    writeFileSync(config, "in the way");
    const failed = (done: string, code: string): string =>
      `${place} cannot be ${done} (${code}). Look at it, and at the folders above it.`;
    expect(await startAtLogin("on")).toEqual({ code: 1, stdout: "", stderr: `${failed("written", "ENOTDIR")}\n` });
    rmSync(config);
    mkdirSync(place, { recursive: true });
    expect(await startAtLogin("on")).toEqual({ code: 1, stdout: "", stderr: `${failed("read", "EISDIR")}\n` });
    const { error } = JSON.parse((await startAtLogin("--json")).stdout) as { error: { message: string } };
    expect(error.message).toBe(failed("read", "EISDIR"));
    rmdirSync(place);
  });
});

describe("reconnect --home", () => {
  test("asks the agent of that home, and says what it cannot map", async () => {
    const [{ home, mountpoint }, other, elsewhere] = [makePlace(), makePlace(), makePlace().home];
    new AgentHome(home).make();
    new AgentHome(home).writeMounts([
      { url: URL, mountpoint, isResting: true },
      { url: `${URL}/nowhere`.replace("docs/", ""), mountpoint: other.mountpoint, isResting: true },
    ]);
    expect(await startFakeAgent(home).firstLine).toBe("running");
    const reconnect = (...args: string[]): Promise<Ran> =>
      runnelWith({}, elsewhere, "reconnect", "--home", home, ...args);
    const failed = `${other.mountpoint} is not mapped: The server cannot be reached.`;
    expect(await reconnect()).toEqual({ code: 1, stdout: `Mapped 1 drive again.\n${failed}\n`, stderr: "" });
    expect(JSON.parse((await reconnect("--json")).stdout)).toMatchObject({
      mapped: [],
      failed: [{ mountpoint: other.mountpoint, sentence: "The server cannot be reached." }],
    });
    expect(existsSync(elsewhere)).toBe(false);
  });

  test("says why an agent cannot be started there", async () => {
    const file = join(makeFolder(), "file");
    writeFileSync(file, "");
    const { code, stdout, stderr } = await runnelWith({}, makePlace().home, "reconnect", "--home", file);
    expect([code === 0, stdout]).toEqual([false, ""]);
    expect(stderr).toContain(file);
  });
});

/** Words of a desktop entry's command, as the specification reads them. */
function wordsOf(entry: string): string[] {
  const line = /^Exec=(.*)$/m.exec(entry)?.[1] ?? "";
  const command = line.replaceAll("\\\\", "\\");
  return [...command.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain = ""]) =>
    (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain).replaceAll("%%", "%"),
  );
}
