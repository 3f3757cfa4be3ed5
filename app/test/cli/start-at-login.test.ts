// The commands of a log-in, with a real agent and entries of the desktop in a folder of their own: `start-at-login`
// makes the entry, and `reconnect --home`, which is in it, maps the drives that are kept. What is said of entries
// otherwise, and where none can be made: test/start.
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { AgentHome } from "../../src/agent/control/index.ts";
import { makeFolder, makePlace, runnelWith, startFakeAgent, stopAgent } from "../control/processes.ts";

const URL = "ws://127.0.0.1:7473/docs";

test("what is made for a log-in maps the drives that are kept in the home that it was asked in, or says which not", async () => {
  const home = join(makeFolder(), 'home of" 50% $Ada');
  const folder = makeFolder();
  // There is no systemd of the user.
  writeFileSync(join(folder, "systemctl"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(folder, "systemctl"), 0o755);
  const env = { XDG_CONFIG_HOME: join(folder, "config"), PATH: `${folder}:${process.env["PATH"]}` };
  const place = join(folder, "config", "autostart", "runnel-drives.desktop");
  const on = await runnelWith(env, home, "start-at-login", "on").finally(() => stopAgent(home));
  const sentence = `The drives that are kept are mapped when you log in: ${place}\n`;
  expect(on).toEqual({ code: 0, stdout: sentence, stderr: "" });

  const [{ mountpoint }, other, elsewhere] = [makePlace(), makePlace(), makePlace().home];
  new AgentHome(home).writeMounts([
    { url: URL, mountpoint, isResting: true },
    { url: URL.replace("docs", "nowhere"), mountpoint: other.mountpoint, isResting: true },
  ]);
  expect(await startFakeAgent(home).firstLine).toBe("running");
  const words = wordsOf(readFileSync(place, "utf8"));
  expect(words.slice(-3)).toEqual(["reconnect", "--home", home]);
  expect(await runnelWith({}, elsewhere, ...words.slice(2))).toEqual({
    code: 1,
    stdout: `Mapped 1 drive again.\n${other.mountpoint} is not mapped: The server cannot be reached.\n`,
    stderr: "",
  });
  expect(existsSync(elsewhere)).toBe(false);
});

/** Words of a desktop entry's command, as the specification reads them. */
function wordsOf(entry: string): string[] {
  const line = /^Exec=(.*)$/m.exec(entry)?.[1] ?? "";
  const command = line.replaceAll("\\\\", "\\");
  return [...command.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain = ""]) =>
    (quoted?.replaceAll(/\\(.)/g, "$1") ?? plain).replaceAll("%%", "%"),
  );
}
