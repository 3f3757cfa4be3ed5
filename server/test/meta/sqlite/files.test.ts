// Tests for a store on disk alone: damage, other formats, a killed process, and the chunk index as a file that may
// vanish.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { META_FORMAT } from "../../../src/meta/first-rows.ts";
import { openSqliteMetaStore, removeSqliteMetaStore } from "../../../src/meta/sqlite/meta-store.ts";
import { EPOCH, Harness, ROOT, digestOf, recipeNamed } from "../meta-harness.ts";
import { copyFolder, newFolder, removeFolders } from "./sqlite-place.ts";

afterAll(removeFolders);

const SAMPLES = new URL("samples/", import.meta.url).pathname;
const sample = (): string => copyFolder(join(SAMPLES, `format-${META_FORMAT}`));

function sql(folder: string, text: string): void {
  const database = new Database(join(folder, "meta.db"));
  database.exec(text);
  database.close();
}

async function withStore(folder: string, work: (h: Harness) => Promise<void>): Promise<void> {
  const h = new Harness(await openSqliteMetaStore(folder));
  try {
    await work(h);
  } finally {
    await h.store.close();
  }
}

describe("formats", () => {
  test("there is a sample of every format up to the current one", () => {
    const formats = Array.from({ length: META_FORMAT }, (_, index) => `format-${index + 1}`);
    expect(readdirSync(SAMPLES).sort()).toEqual(formats);
  });

  test.each(readdirSync(SAMPLES))("the sample of %s opens and tells what was stored", async (format) => {
    await withStore(copyFolder(join(SAMPLES, format)), async (h) => {
      const facts = { formatVersion: META_FORMAT, epoch: EPOCH, seq: 8, appliedSeq: 0, logSegment: 3, logOffset: 8000 };
      expect(await h.store.facts()).toEqual(facts);
      expect(await h.names(ROOT)).toEqual(["docs", "link", "seen"]);
      const docs = await h.state(ROOT, "docs");
      const report = await h.state(docs.node, "report.txt");
      expect(report).toMatchObject({ sizeBytes: 5, version: 4, mode: 0o644, mtimeNs: 1_795_230_542_500_004_000n });
      expect(await h.store.recipe({ node: report.node, seq: 4 })).toEqual(recipeNamed("three", 5));
      expect(await h.store.versionsOf(report.node)).toMatchObject([
        { version: { seq: 0 }, place: { at: "empty" } },
        { version: { seq: 3 }, place: { at: "pending", segment: 3, offset: 3000, length: 100 } },
        { version: { seq: 4 }, place: { at: "pending", segment: 3, offset: 4000, length: 100 } },
      ]);
      expect(await h.state(ROOT, "link")).toMatchObject({ type: "symlink", target: "docs/report.txt" });
      expect(await h.store.diskRow(ROOT, "seen")).toMatchObject({
        handle: digestOf("made 1/seen"),
        stat: { ino: 1000 },
      });
      // Attached before terms were kept.
      expect(await h.store.attached()).toEqual([{ instance: "here", termMs: 0 }]);
      expect(await h.store.changesAfter(6, 9)).toMatchObject([
        { seq: 7 },
        { seq: 8, bindings: [{ folder: ROOT, name: "seen" }] },
      ]);
      expect(await h.store.result("here", 3)).toMatchObject({ digest: digestOf("here 3"), result: { seq: 3 } });
      expect(await h.store.findChunks(digestOf("three"))).toEqual([
        { version: { node: report.node, seq: 4 }, offset: 0, length: 5 },
      ]);
      expect((await h.store.allocateNodes(1)).first).toBe(67);
      expect(await h.store.notices()).toEqual([]);
    });
  });

  test("a store of a newer format is refused by name and left alone", async () => {
    const folder = sample();
    sql(folder, `PRAGMA user_version = ${META_FORMAT + 1}`);
    const before = readFileSync(join(folder, "meta.db"));
    await expect(openSqliteMetaStore(folder)).rejects.toMatchObject({
      kind: "Version",
      message: expect.stringContaining("written by a newer Runnel"),
      detail: { need: META_FORMAT + 1 },
    });
    expect(readFileSync(join(folder, "meta.db")).equals(before)).toBe(true);
  });
});

describe("damage", () => {
  const damages: [string, (path: string) => void][] = [
    ["no database", (path) => writeFileSync(path, "x".repeat(5000))],
    ["an empty file", (path) => writeFileSync(path, "")],
    ["cut in half", (path) => truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096)],
    [
      "a page of noise",
      (path) => {
        const bytes = readFileSync(path);
        writeFileSync(path, bytes.fill(0x5a, 4096 * 4, 4096 * 5));
      },
    ],
  ];

  test.each(damages)("a meta store that is %s is Corrupt, and can be removed and created anew", async (_, damage) => {
    const folder = sample();
    damage(join(folder, "meta.db"));
    await expect(openSqliteMetaStore(folder)).rejects.toMatchObject({ kind: "Corrupt" });
    removeSqliteMetaStore(folder);
    const store = await openSqliteMetaStore(folder, { create: { epoch: EPOCH } });
    await store.close();
  });

  test("[F70] any changed byte of the database is Corrupt at open", async () => {
    const folder = sample();
    const path = join(folder, "meta.db");
    const whole = readFileSync(path);
    // Opening takes milliseconds: a prime stride goes through all that a page has.
    const stride = process.env["RUNNEL_LONG"] === undefined ? 2003 : 101;
    for (let at = 0; at < whole.length; at += stride) {
      const bytes = Buffer.from(whole);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (at % 8)), at);
      writeFileSync(path, bytes);
      const opening = openSqliteMetaStore(folder).then((store) => store.close());
      await expect(opening.catch((error: unknown) => ({ at, error }))).resolves.toMatchObject({
        at,
        error: { kind: "Corrupt" },
      });
    }
  }, 300_000);

  test("another program's database is Corrupt", async () => {
    const folder = newFolder();
    sql(folder, "CREATE TABLE t (a)");
    await expect(openSqliteMetaStore(folder)).rejects.toMatchObject({ kind: "Corrupt" });
  });

  const read: [string, string, (h: Harness) => Promise<unknown>][] = [
    ["nodes", "UPDATE nodes SET mode = mode + 1 WHERE node = 2", (h) => h.store.node(2)],
    ["nodes, listed", "UPDATE nodes SET size_bytes = 7 WHERE node = 2", (h) => h.store.list(ROOT, "", 9)],
    ["nodes, missing", "DELETE FROM nodes WHERE node = 2", (h) => h.store.list(ROOT, "", 9)],
    ["bindings", "UPDATE bindings SET node = 3 WHERE name = 'docs'", (h) => h.store.lookup(ROOT, "docs")],
    ["bindings, by node", "UPDATE bindings SET node = 2 WHERE name = 'seen'", (h) => h.store.namesOf(2)],
    ["versions", "UPDATE versions SET place_at = 'lost'", (h) => h.store.versionsOf(3)],
    ["recipes", "UPDATE recipes SET recipe = zeroblob(36)", (h) => h.store.recipe({ node: 3, seq: 4 })],
    ["changes", "UPDATE changes SET change = '[[],[],[]]'", (h) => h.store.changesAfter(0, 9)],
    ["results", "UPDATE results SET node = 9", (h) => h.store.result("here", 1)],
    ["attached", "UPDATE attached SET instance = 'x'", (h) => h.store.attached()],
    ["disk", "UPDATE disk SET handle = x'00'", (h) => h.store.diskRows(ROOT)],
    ["last_names", "UPDATE last_names SET folder = 5", (h) => h.run(h.write(4, 0, "x"), "later")],
  ];

  test.each(read)("a row of %s that fails its checksum is Corrupt when it is read", async (_, damage, reading) => {
    const folder = sample();
    sql(folder, damage);
    await withStore(folder, async (h) => {
      await expect(reading(h)).rejects.toMatchObject({ kind: "Corrupt" });
      await h.store.plan([]);
      await h.store.rollback();
    });
  });

  test("damaged facts are Corrupt at open", async () => {
    const folder = sample();
    sql(folder, "UPDATE facts SET seq = 3");
    await expect(openSqliteMetaStore(folder)).rejects.toMatchObject({ kind: "Corrupt" });
  });
});

test("a checkpoint leaves nothing in the WAL, and is Busy while another program reads an older state", async () => {
  const folder = sample();
  await withStore(folder, async (h) => {
    const wal = (): number => statSync(join(folder, "meta.db-wal")).size;
    await h.run(h.remove(ROOT, "seen", (await h.state(ROOT, "seen")).node), "later");
    expect(wal()).toBeGreaterThan(0);
    const other = new Database(join(folder, "meta.db"), { readonly: true });
    const reading = other.prepare("SELECT node FROM nodes").iterate();
    reading.next();
    await h.store.setAttached("later", 20_000);
    await expect(h.store.checkpoint()).rejects.toMatchObject({ kind: "Busy" });
    reading.return?.();
    other.close();
    await h.store.checkpoint();
    expect(wal()).toBe(0);
    expect(await h.store.attached()).toMatchObject([{ instance: "here" }, { instance: "later", termMs: 20_000 }]);
  });
});

describe("the chunk index's file", () => {
  const version = { node: 3, seq: 4 };

  test.each([
    ["missing", (path: string) => rmSync(path)],
    ["no database", (path: string) => writeFileSync(path, "x".repeat(9000))],
    ["of another format", (path: string) => writeFileSync(path, readFileSync(path).fill(9, 60, 64))],
  ])("may be %s: it is made anew and empty", async (_, damage) => {
    const folder = sample();
    damage(join(folder, "chunks.db"));
    await withStore(folder, async ({ store }) => {
      expect(await store.findChunks(digestOf("three"))).toEqual([undefined]);
      await store.putChunks(version, { lengths: Uint32Array.of(5), digests: digestOf("three") });
      expect(await store.findChunks(digestOf("three"))).toEqual([{ version, offset: 0, length: 5 }]);
    });
  });
});

test("commits survive a killed process whole, and an open batch leaves nothing", async () => {
  const folder = newFolder();
  const script = new URL("commit-until-killed.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const bytes of child.stdout) {
    text += String(bytes);
    if (text.split("\n").length > 20) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  expect(child.signalCode).toBe("SIGKILL");
  const told = Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));
  expect(told).toBeGreaterThan(0);
  await withStore(folder, async ({ store }) => {
    const { seq, logOffset } = await store.facts();
    expect(seq).toBeGreaterThanOrEqual(told);
    // Batches of 8, each with a log end of 1000 more.
    expect(seq % 8).toBe(0);
    expect(logOffset).toBe((seq / 8) * 1000);
    expect(await store.list(ROOT, "", seq + 10)).toHaveLength(seq);
    expect(await store.changesAfter(0, seq + 10)).toHaveLength(seq);
  });
});

test("[F70] pages are checked also when SQLite was unloaded in between, with the last thread that used it", async () => {
  const folder = sample();
  const script = new URL("open-again.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, folder], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const bytes of child.stdout) text += String(bytes);
  expect(text).toBe("Corrupt\n");
});
