// Opening a browser: which program, and what becomes of it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { darwinSystem } from "../../../src/agent/control/host/darwin/system.ts";
import { linuxSystem } from "../../../src/agent/control/host/linux/system.ts";
import type { System } from "../../../src/agent/control/host/system.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";
import { openInBrowser } from "../../../src/cli/host/browser.ts";
import { makeFolder } from "../../control/processes.ts";
import { standInBrowser } from "../../page/stand-in.ts";

test.each<[string, System, string, string, string[]]>([
  ["Linux", linuxSystem, "/home/ada/open-1.html", "xdg-open", ["/home/ada/open-1.html"]],
  ["Linux", linuxSystem, "/a b.html", "xdg-open", ["/a b.html"]],
  ["macOS", darwinSystem, "/Users/ada/a b.html", "open", ["/Users/ada/a b.html"]],
  [
    "Windows",
    windowsSystem,
    "C:\\Ada & Co\\open-1.html",
    "cmd.exe",
    ["/d", "/c", 'start "" "C:\\Ada & Co\\open-1.html"'],
  ],
])("on %s a path is opened by the program of the system", (_, system, path, program, args) => {
  expect(system.opener(path)).toEqual({ program, args, isVerbatim: system === windowsSystem });
});

const onLinux = process.platform === "linux" ? describe : describe.skip;
onLinux("opening a browser", () => {
  const place = (): { folder: string; page: string } => {
    const folder = makeFolder();
    const page = join(folder, "a page.html");
    writeFileSync(page, "page");
    return { folder: join(folder, "bin"), page };
  };

  test("starts the program with the path", async () => {
    const { folder, page } = place();
    const browser = standInBrowser(folder);
    await openInBrowser(page, { printing: "runnel ui --print", env: browser.env });
    expect(browser.seen).toMatchObject({ args: [page], page: "page" });
  });

  test("does not wait for a program that is the browser itself", async () => {
    const { folder, page } = place();
    const clock = new SimulatedClock();
    // It ends when the test takes its folder away.
    const browser = standInBrowser(folder, `while [ -e '${page}' ]; do sleep 0.1; done`);
    const opening = openInBrowser(page, { printing: "runnel ui --print", env: browser.env, clock });
    await clock.advance(60_000);
    await opening;
  });

  test("fails with what to do instead", async () => {
    const { folder, page } = place();
    const failing = standInBrowser(folder, "exit 3");
    await expect(openInBrowser(page, { printing: "runnel ui --print", env: failing.env })).rejects.toMatchObject({
      kind: "Unavailable",
      message: 'No browser was opened: xdg-open has failed. Print a link, and open that yourself: "runnel ui --print".',
    });
    const empty = join(folder, "empty");
    mkdirSync(empty);
    await expect(openInBrowser(page, { printing: "runnel ui --print", env: { PATH: empty } })).rejects.toMatchObject({
      kind: "Unavailable",
      message: expect.stringContaining("xdg-open cannot be run"),
    });
  });
});
