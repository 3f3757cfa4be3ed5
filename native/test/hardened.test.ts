// How the addons that were built here are protected against what a mistake in them could be used for.
import { execFileSync } from "node:child_process";
import { expect, test } from "@jest/globals";
import { addonPath } from "../src/load.ts";

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux.each(["core", "drive"] as const)(
  "%s.node has stack protectors, checked copies, and tables that nobody can write to",
  (name) => {
    const readelf = (...options: string[]): string =>
      execFileSync("readelf", ["-W", ...options, addonPath(name)], { encoding: "utf8" });
    expect(readelf("--segments")).toMatch(/GNU_RELRO/);
    expect(readelf("--dynamic")).toMatch(/BIND_NOW/);
    const imported = readelf("--dyn-syms");
    expect(imported).toMatch(/__stack_chk_fail/);
    expect(imported).toMatch(/__mem(cpy|move|set)_chk/);
  },
);
