// The thread of the sqlite engine starts with every volume: it loads what it needs, and not the wire.
import { expect, test } from "@jest/globals";
import { loadedModules } from "@runnel/shared/test/host/loaded-modules.ts";

const FOREIGN = /node_modules\/(ws|zod|hono|pino)\/|shared\/src\/(protocol\/requests|calls|page)\//;

test("it loads neither the wire nor the schemas of requests", async () => {
  const loaded = await loadedModules(new URL("../../../src/meta/sqlite/worker.ts", import.meta.url).href);
  expect(loaded.some((url) => url.endsWith("meta/meta-core.ts"))).toBe(true);
  expect(loaded.filter((url) => FOREIGN.test(url))).toEqual([]);
});
