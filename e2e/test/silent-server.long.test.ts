// Verbs while nothing is heard of the server: every one answers in its time, and what is unsent is kept, said, and sent
// later.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SilentPlace, output } from "../src/deadlines/index.ts";
import { isMounted, onMount } from "../src/harness/index.ts";

describe("while nothing is heard of the server", () => {
  let place: SilentPlace;

  beforeEach(async () => {
    place = new SilentPlace();
    await place.start();
  }, 60_000);
  afterEach(() => place.sandbox.cleanup(), 120_000);

  test.each(["cut", "black hole", "stopped server"])(
    "%s: status, flush and unmount answer; what is unsent is kept, said, and sent by the next mount",
    async (how) => {
      const { device, server, link, served, drive } = place;
      const writer = place.program(
        "bash",
        "-c",
        'exec 3> "$1/held"; echo ready; read -r; echo mine >&3',
        "bash",
        drive,
      );
      await output(writer);
      const written = once(writer, "exit");
      if (how === "cut") await link.cut("refuse");
      else if (how === "black hole") await link.blackHole();
      else server.pause();
      writer.stdin?.end("go\n");
      await written;
      expect((await place.timed(["status", "--json"])).tookMs).toBeLessThan(8_000);
      const flushed = await place.timed(["flush", drive]);
      expect(flushed.text).toContain("could not be sent");
      expect(flushed.tookMs).toBeLessThan(20_000);
      const unmounted = await place.timed(["unmount", drive]);
      expect(unmounted.text).toContain("1 file was not sent; kept here");
      expect(unmounted.tookMs).toBeLessThan(15_000);
      expect(isMounted(drive)).toBe(false);
      // Shown as it was, although it cannot be reached.
      await place.mount();
      expect(await onMount('ls "$1"; cat "$1/held"', [drive])).toContain("held\nunseen\n");
      await place.waitForStatus(({ state, unsentFiles }) => state === "offline" && unsentFiles === 1, "it");
      server.goOn();
      await link.restore();
      await place.waitForStatus(
        ({ state, unsentFiles }) => state === "connected" && unsentFiles === 0,
        "what was unsent",
      );
      await onMount('echo again > "$1/new"; mkdir "$1/folder"', [drive]);
      await device.flush(drive, { up: true });
      expect(readFileSync(join(served, "held"), "utf8")).toBe("mine\n");
    },
    180_000,
  );

  test("the first mount of a server that is silent fails with one sentence, and status answers meanwhile", async () => {
    const { sandbox, link } = place;
    await link.blackHole();
    const other = sandbox.makeFolder("other");
    const mounting = place.timed(["mount", place.url, other]);
    expect((await place.timed(["status", "--json"])).tookMs).toBeLessThan(8_000);
    const { tookMs, text, code } = await mounting;
    expect(code).toBe(3);
    expect(text.trim().split("\n")).toHaveLength(1);
    expect(tookMs).toBeLessThan(25_000);
    expect(isMounted(other)).toBe(false);
  }, 120_000);
});
