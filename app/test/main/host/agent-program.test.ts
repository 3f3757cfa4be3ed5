// Looks for the program that the desktop app starts, at each of the places where an app is packed.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { agentProgram } from "../../../src/main/host/agent-program.ts";
import { darwinDesktop } from "../../../src/main/host/darwin/desktop-system.ts";
import { linuxDesktop } from "../../../src/main/host/linux/desktop-system.ts";
import { windowsDesktop } from "../../../src/main/host/windows/desktop-system.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "runnel-place-"));
});

afterEach(() => rmSync(root, { recursive: true }));

function make(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

test("a clone, and a package of Linux, has it beside the bundle", () => {
  make("node_modules/.bin/node", "app/bin/runnel.mjs", "app/dist/main.mjs");
  expect(
    agentProgram({ bundle: join(root, "app/dist"), resources: undefined, named: undefined }, linuxDesktop),
  ).toEqual({
    node: join(root, "node_modules/.bin/node"),
    launcher: join(root, "app/bin/runnel.mjs"),
  });
});

test("a packaged app has it among its resources: as a tree of macOS, or as a bundle of Windows", () => {
  const place = { bundle: join(root, "app.asar"), resources: root, named: undefined };
  make("runnel/node_modules/.bin/node", "runnel/app/bin/runnel.mjs");
  expect(agentProgram(place, darwinDesktop)).toEqual({
    node: join(root, "runnel/node_modules/.bin/node"),
    launcher: join(root, "runnel/app/bin/runnel.mjs"),
  });
  rmSync(join(root, "runnel"), { recursive: true });
  make("runnel/node.exe", "runnel/app/cli/main.js");
  expect(agentProgram(place, windowsDesktop)).toEqual({
    node: join(root, "runnel/node.exe"),
    launcher: join(root, "runnel/app/cli/main.js"),
  });
});

test("a packaged app without one looks beside its bundle, as a package of Linux has it", () => {
  make("app/bin/runnel.mjs");
  const place = { bundle: join(root, "app/dist"), resources: join(root, "resources"), named: undefined };
  for (const system of [linuxDesktop, darwinDesktop, windowsDesktop])
    expect(agentProgram(place, system)).toEqual({ node: "node", launcher: join(root, "app/bin/runnel.mjs") });
});

test("who starts the app may name another, which an AppImage does that has copied it", () => {
  make("copy/node_modules/.bin/node", "copy/app/bin/runnel.mjs", "runnel/app/bin/runnel.mjs");
  const place = { bundle: join(root, "app/dist"), resources: root, named: join(root, "copy/app") };
  expect(agentProgram(place, linuxDesktop)).toEqual({
    node: join(root, "copy/node_modules/.bin/node"),
    launcher: join(root, "copy/app/bin/runnel.mjs"),
  });
});
