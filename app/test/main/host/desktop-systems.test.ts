// Contract of what differs by operating system in the desktop app, for each system.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { VIEW_STATES } from "../../../src/agent/view/head.ts";
import { darwinDesktop } from "../../../src/main/host/darwin/desktop-system.ts";
import type { DesktopSystem } from "../../../src/main/host/desktop-system.ts";
import { linuxDesktop } from "../../../src/main/host/linux/desktop-system.ts";
import { thisDesktop } from "../../../src/main/host/this-desktop.ts";
import { windowsDesktop } from "../../../src/main/host/windows/desktop-system.ts";

const ICONS = fileURLToPath(new URL("../../../src/main/icons/", import.meta.url));

const SYSTEMS: [NodeJS.Platform, DesktopSystem][] = [
  ["linux", linuxDesktop],
  ["darwin", darwinDesktop],
  ["win32", windowsDesktop],
];

describe.each(SYSTEMS)("the desktop app on %s", (platform, system) => {
  test("has an icon for each state, another for each, in both sizes", () => {
    const names = VIEW_STATES.map((state) => system.iconOf(state));
    expect(new Set(names).size).toBe(VIEW_STATES.length);
    const files = names.flatMap((name) => [name, name.replace(".png", "@2x.png")]);
    expect(files.filter((name) => !existsSync(ICONS + name))).toEqual([]);
  });

  test("starts a program by paths within its folder, the launcher of a clone first", () => {
    expect(system.launchers[0]).toBe("bin/runnel.mjs");
    for (const path of [...system.launchers, ...system.nodes]) expect(path).not.toMatch(/^[/\\]|\.\./);
    expect(system.nodes.every((path) => path.endsWith(".exe"))).toBe(platform === "win32");
  });
});

test("is updated by what has installed it on Linux, and takes no package of Windows without a publisher", () => {
  expect(SYSTEMS.map(([, { ownUpdates }]) => ownUpdates)).toEqual([
    undefined,
    // Squirrel looks at the signature itself.
    { updater: "MacUpdater", needsPublisher: false },
    { updater: "NsisUpdater", needsPublisher: true },
  ]);
});

test("is started by files of its own on Linux only; on macOS its icon is a template, and has no menu set", () => {
  expect(SYSTEMS.map(([, system]) => system.iconOf("fine"))).toEqual(["fine.png", "fineTemplate.png", "fine.png"]);
  expect(SYSTEMS.map(([, { entries }]) => entries !== undefined)).toEqual([true, false, false]);
  expect(SYSTEMS.map(([, { menuTakesClicks }]) => menuTakesClicks)).toEqual([false, true, false]);
});

test("runs on the system that this is", () => {
  expect(thisDesktop).toBe(new Map(SYSTEMS).get(process.platform));
});
