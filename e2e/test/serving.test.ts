// A folder and a volume's data belong to one server at a time; a killed server's claim ends with it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { readdirSync } from "node:fs";
import { Sandbox } from "../src/harness/index.ts";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("a folder that a living server serves is refused in one sentence, with other data too; after a kill it is free", async () => {
  const volumes = { docs: sandbox.makeFolder("served") };
  const first = await sandbox.startServer({ volumes, data: sandbox.makeFolder("data") });
  await expect(sandbox.startServer({ volumes, data: sandbox.makeFolder("other") })).rejects.toThrow(
    /served is served already, by process \d+/,
  );
  const elsewhere = { docs: sandbox.makeFolder("elsewhere") };
  await expect(sandbox.startServer({ volumes: elsewhere, data: sandbox.path("data") })).rejects.toThrow(
    /data is served already/,
  );
  await first.kill();
  const again = await sandbox.startServer({ volumes, data: sandbox.path("data") });
  expect(again.hasEnded).toBe(false);
}, 60_000);

test("a folder inside a served one is refused", async () => {
  await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
  const inside = { volumes: { below: sandbox.makeFolder("served", "a", "b") }, data: sandbox.makeFolder("other") };
  await expect(sandbox.startServer(inside)).rejects.toThrow(/lies inside .*served, which is served/);
}, 60_000);

test("a port in use is known before a folder is touched", async () => {
  const first = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
  const options = {
    volumes: { docs: sandbox.makeFolder("untouched") },
    data: sandbox.makeFolder("other"),
    listen: `127.0.0.1:${first.port}`,
  };
  await expect(sandbox.startServer(options)).rejects.toThrow(/in use by another program/);
  expect(readdirSync(sandbox.path("untouched"))).toEqual([]);
}, 60_000);
