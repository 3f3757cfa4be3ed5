// A folder of the server that refuses what is put into it, whoever does it (chattr +i): what is saved elsewhere comes
// up all the same.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox, onMount, waitFor } from "../src/harness/index.ts";

function setImmutable(folder: string, isImmutable: boolean): boolean {
  return spawnSync("chattr", [isImmutable ? "+i" : "-i", folder]).status === 0;
}

/** Returns true when the file system takes the flag from this user. */
function canBeImmutable(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "runnel-immutable-"));
  const can = setImmutable(folder, true);
  setImmutable(folder, false);
  rmSync(folder, { recursive: true });
  return can;
}

const isPossible = canBeImmutable();
const testWhereImmutable = isPossible ? test : test.skip;
const shown = isPossible ? "" : " (skipped: chattr +i is refused here)";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(async () => {
  setImmutable(sandbox.path("served", "shut"), false);
  await sandbox.cleanup();
}, 60_000);

testWhereImmutable(
  `[F166] one save that cannot be put in its folder holds up none elsewhere, also through a restart, and is up when it can be${shown}`,
  async () => {
    const at = (...names: string[]): string => sandbox.path("served", ...names);
    for (const name of ["shut", "free"]) mkdirSync(join(sandbox.makeFolder("served"), name));
    let server = await sandbox.startServer();
    const [device, drive] = [sandbox.device("a"), sandbox.makeFolder("drive")];
    await device.mount(`${server.url}/docs`, drive);
    const on = (script: string): Promise<string> => onMount(script, [drive]);
    const toldBy = async (): Promise<unknown> => {
      const [mount] = (await device.status())["mounts"] as { server: unknown }[];
      return mount?.server;
    };
    await on('echo old > "$1/free/old"; echo gone > "$1/free/gone"; echo kept > "$1/shut/kept"');
    await device.flush(drive, { up: true });

    expect(setImmutable(at("shut"), true)).toBe(true);
    await on('echo stuck > "$1/shut/stuck"; echo newer > "$1/free/old"; echo new > "$1/free/new"; rm "$1/free/gone"');
    await device.flush(drive);
    await waitFor(() => existsSync(at("free", "new")) && !existsSync(at("free", "gone")), 30_000, "the three are up");
    await waitFor(() => readFileSync(at("free", "old"), "utf8") === "newer\n", 30_000, "the edit is up");
    expect(existsSync(at("shut", "stuck"))).toBe(false);
    expect(await on('cat "$1/shut/stuck" "$1/free/new"')).toBe("stuck\nnew\n");
    expect(await toldBy()).toMatchObject({ pending: 2, stuck: { path: "shut/stuck", kind: "Denied" } });
    const { checks } = (await device.ask(["doctor"])) as { checks: { about: string }[] };
    const said = expect.stringMatching(
      /2 changes are saved, but not .* at shut\/stuck: the server may not write there/,
    );
    expect(checks.find(({ about }) => about === drive)).toMatchObject({ isFine: false, sentence: said });

    const { port } = server;
    await server.kill();
    server = await sandbox.startServer({ listen: `127.0.0.1:${port}` });
    const isBack = (): Promise<string> => on('echo later > "$1/free/later"; cat "$1/shut/stuck"').catch(() => "");
    await waitFor(isBack, 30_000, "the drive is back");
    await waitFor(() => existsSync(at("free", "later")), 30_000, "what is saved later is up");
    expect(existsSync(at("shut", "stuck"))).toBe(false);
    const { ino } = statSync(at("free", "new"));

    expect(setImmutable(at("shut"), false)).toBe(true);
    await device.flush(drive, { up: true });
    expect(readFileSync(at("shut", "stuck"), "utf8")).toBe("stuck\n");
    expect(statSync(at("free", "new")).ino).toBe(ino);
    expect(await toldBy()).toMatchObject({ pending: 0, stuck: null });
  },
  120_000,
);
