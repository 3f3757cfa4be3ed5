// Desktop entries: what a session reads to start the app, and to hand it links.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { RealClock } from "@runnel/shared";
import { autostartOfApp, takeLinks } from "../../../../src/main/host/linux/desktop-entry.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "entry-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const COMMAND = ['/opt/with space/run"nel\\', "100%", "--quiet"];

test("the app starts at login once it is set to, with every word of its command as it is", async () => {
  const item = autostartOfApp(COMMAND, { HOME: folder });
  expect(await item.get()).toBe(false);
  await item.set(true);
  expect(await item.get()).toBe(true);
  const entry = readFileSync(join(folder, ".config/autostart/runnel.desktop"), "utf8");
  expect(entry).toContain(String.raw`Exec="/opt/with space/run\\"nel\\\\" "100%%" --quiet` + "\n");
  await item.set(false);
  await item.set(false);
  expect(await item.get()).toBe(false);
});

test("a folder that cannot be written to is a sentence", async () => {
  writeFileSync(join(folder, "config"), "a file");
  const item = autostartOfApp(COMMAND, { HOME: folder, XDG_CONFIG_HOME: join(folder, "config") });
  await expect(item.set(true)).rejects.toMatchObject({ name: "RunnelError" });
});

test("links come to the app, by an entry and the desktop's own program for it, or without that", async () => {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "xdg-mime"), `#!/bin/sh\necho "$*" > "${folder}/asked"\n`, { mode: 0o755 });
  const env = { HOME: folder, XDG_DATA_HOME: "relative", PATH: `${bin}:/usr/bin:/bin` };
  await takeLinks(["/opt/runnel", "--"], new RealClock(), env);
  const path = join(folder, ".local/share/applications/runnel.desktop");
  expect(readFileSync(path, "utf8")).toMatch(/^Exec=\/opt\/runnel -- %u\n(.*\n)*MimeType=x-scheme-handler\/runnel;$/m);
  expect(readFileSync(join(folder, "asked"), "utf8")).toBe("default runnel.desktop x-scheme-handler/runnel\n");
  await takeLinks(["/opt/runnel", "--"], new RealClock(), { ...env, PATH: folder });
});
