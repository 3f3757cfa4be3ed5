// Questions to the cache's index: none reads more rows than it finds, however many contents there are.
import { expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { CACHE_FORMAT, prepareContentStatements } from "../../src/agent/cache/content-index.ts";
import { type IndexDatabase, openDatabase } from "../../src/agent/replica/database.ts";

/**
 * Asked at opening, or when everything changes: these read the whole table. `lastId` reads one that has a row for each
 * table.
 */
const OF_ALL = ["lastId", "totals", "places", "halfMade", "forgetVersions", "withoutOid", "unfinished", "sweepChunks"];

function statements(): [string, string][] {
  const recorder = { query: (sql: string) => sql } as unknown as IndexDatabase;
  return Object.entries(prepareContentStatements(recorder) as unknown as Record<string, string>);
}

test.each(statements().filter(([name]) => !OF_ALL.includes(name)))("%s is found by an index", (_name, sql) => {
  const database = new Database(":memory:");
  database.exec(CACHE_FORMAT.schema);
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
  expect(plan.map(({ detail }) => detail).filter((detail) => detail.includes("SCAN"))).toEqual([]);
  database.close();
});

test("the keys of chunks are listed in pages, each once, whatever their sign", () => {
  const database = openDatabase(":memory:", CACHE_FORMAT);
  const { putChunk, keysAfter } = prepareContentStatements(database);
  const keys = [-(2n ** 63n) + 1n, -5n, 0n, 7n, 2n ** 53n + 1n, 2n ** 63n - 1n];
  for (const key of keys) for (const lineage of [1, 2]) putChunk.run(key, lineage);
  const listed: bigint[] = [];
  for (let after = -(2n ** 63n); ;) {
    const page = keysAfter.all(after, 2).map(({ key }) => BigInt(key));
    listed.push(...page);
    if (page.length === 0) break;
    after = page.at(-1) ?? 0n;
  }
  expect(listed).toEqual(keys);
  database.close();
});
