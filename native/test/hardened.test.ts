// Protection of the addons that were built here against what a mistake in them could be used for.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { addonPath } from "../src/load.ts";

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux.each(["core", "drive"] as const)(
  "%s.node has stack protectors, and tables that nobody can write to",
  (name) => {
    const readelf = (...options: string[]): string =>
      execFileSync("readelf", ["-W", ...options, addonPath(name)], { encoding: "utf8" });
    expect(readelf("--segments")).toMatch(/GNU_RELRO/);
    expect(readelf("--dynamic")).toMatch(/BIND_NOW/);
    expect(readelf("--dyn-syms")).toMatch(/__stack_chk_fail/);
  },
);

// Threads of the addons are at work until the process is gone, and a destructor would take from them what they use.
onLinux.each(["core", "drive"] as const)("%s.node destroys nothing when the process ends", (name) => {
  const symbols = execFileSync("readelf", ["-W", "--dyn-syms", addonPath(name)], { encoding: "utf8" });
  expect(symbols).toMatch(/napi_create_function/);
  expect(symbols).not.toMatch(/__cxa_atexit/);
});

onLinux("all of their sources are compiled so", () => {
  const path = join(dirname(addonPath("core")), "compile_commands.json");
  const commands = (JSON.parse(readFileSync(path, "utf8")) as { command: string }[]).map(({ command }) => command);
  // An addon's sources are compiled as one, but for the engines of a processor.
  for (const target of ["core_node", "drive_node", "runnel_zstd"])
    expect([target, commands.some((command) => command.includes(`/${target}.dir/`))]).toEqual([target, true]);
  const flags = ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"];
  expect(commands.filter((command) => !flags.every((flag) => command.includes(flag)))).toEqual([]);
});
