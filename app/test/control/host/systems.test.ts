// Contract of what differs by operating system, for each system, as far as it can be asked anywhere.
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isRunnelMount, RealClock } from "@runnel/shared";
import { posixSystem } from "../../../src/agent/control/host/posix/system.ts";
import type { System } from "../../../src/agent/control/host/system.ts";
import { replace } from "../../../src/agent/control/host/windows/names.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "runnel-systems-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each<[string, System]>([
  ["Linux and macOS", posixSystem],
  ["Windows", windowsSystem],
])("an agent on %s", (_, system) => {
  test("replaces a file that may be there, and leaves nothing beside it", () => {
    const at = mkdtempSync(join(folder, "replaced-"));
    for (const text of ["first", "second"]) {
      writeFileSync(join(at, "file.new"), text);
      system.replace(join(at, "file.new"), join(at, "file"));
      system.syncFolder(at);
      expect(readFileSync(join(at, "file"), "utf8")).toBe(text);
    }
    expect(readdirSync(at)).toEqual(["file"]);
    expect(() => system.replace(join(at, "none"), join(at, "file"))).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
  });

  test("listens at another place for each home", () => {
    const [one, two] = ["one", "two"].map((name) => system.placeSocket(join(folder, name), {}));
    expect(one).not.toBe(two);
  });

  test("has drives of its process in the table while they are mounted, and disposes of what is none", async () => {
    const table = system.mountTable(new RealClock());
    const before = await table.read();
    const guard = await table.endWithProcess(join(folder, "nothing is mounted here"));
    guard[Symbol.dispose]();
    expect(await table.read()).toEqual(before);
  });
});

describe("Windows", () => {
  test("has a drive in the table for as long as its process has it, and never a dead one", async () => {
    const table = windowsSystem.mountTable(new RealClock());
    const one = await table.endWithProcess("R:");
    const two = await table.endWithProcess("X:");
    expect((await table.read()).map((entry) => [entry.mountpoint, isRunnelMount(entry)])).toEqual([
      ["R:", true],
      ["X:", true],
    ]);
    expect(await table.probe("R:")).toBe("alive");
    one[Symbol.dispose]();
    expect((await table.read()).map(({ mountpoint }) => mountpoint)).toEqual(["X:"]);
    await expect(table.detach("X:")).rejects.toMatchObject({ kind: "Busy" });
    two[Symbol.dispose]();
  });

  test("gives an agent a pipe that nobody can know beforehand", () => {
    const [one, two] = [windowsSystem.placeSocket(folder, {}), windowsSystem.placeSocket(folder, {})];
    expect(one).toMatch(/^\\\\\.\\pipe\\runnel-[-0-9a-f]{36}$/);
    expect(two).not.toBe(one);
  });

  test("waits for the reader of a file that is to be replaced, for a while", () => {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    writeFileSync(from, "new");
    const refused = Object.assign(new Error("in use"), { code: "EPERM" });
    let readers = 3;
    const rename: typeof renameSync = (...names) => {
      if (readers-- > 0) throw refused;
      renameSync(...names);
    };
    replace(from, to, rename);
    expect(readFileSync(to, "utf8")).toBe("new");
    expect(readers).toBe(-1);

    readers = Infinity;
    let nowMs = 0;
    const clock = Object.assign(new RealClock(), { bootMs: () => (nowMs += 300) });
    expect(() => replace(from, to, rename, clock)).toThrow(refused);
    expect(nowMs).toBeLessThan(3000);
  });
});
