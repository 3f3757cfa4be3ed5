// The supplies of an agent: their list on the disk, and what drives have of them.
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { realDisk } from "@runnel/native";
import { Supplies } from "../../src/agent/supply/supplies.ts";
import type { ChunkSource } from "../../src/agent/transfer/sources/chunk-source.ts";
import { clock, executor } from "./supply-rig.ts";

let folder: string;
let home: string;
let supplies: Supplies;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "runnel-supplies-"));
  home = join(folder, "home");
  supplies = await open();
});

afterEach(async () => {
  await supplies.close();
  await rm(folder, { recursive: true, force: true });
});

function open(log = (_message: string): void => undefined): Promise<Supplies> {
  return Supplies.open({ home, disk: realDisk(), executor, clock, log });
}

async function makeOld(name: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(join(path, "file"), `content of ${name}`);
  return path;
}

/** A drive, and the names of the sources that it has. */
function drive() {
  const names = new Set<string>();
  const add = ({ name }: { name: string }): Disposable => {
    names.add(name);
    return { [Symbol.dispose]: () => void names.delete(name) };
  };
  return { names, add };
}

test("[F224] supplies are used again by the next agent, without being cut again", async () => {
  const path = await makeOld("old");
  await supplies.add(path);
  await supplies.scanned();
  const [before] = supplies.list();
  expect(before).toMatchObject({ path, state: "ready", files: 1, passedOver: 0, problem: null });
  await supplies.close();
  supplies = await open();
  expect(supplies.list()).toMatchObject([{ path, files: 1 }]);
});

test("drives have all supplies, also those to come, until they are removed", async () => {
  const [one, two] = [await makeOld("one"), await makeOld("two")];
  await supplies.add(one);
  await supplies.scanned();
  const { names, add } = drive();
  const attached = supplies.attach(add);
  await supplies.add(two);
  expect([...names]).toEqual([one]);
  await supplies.scanned();
  expect([...names]).toEqual([one, two]);
  await supplies.remove(one);
  expect([...names]).toEqual([two]);
  attached[Symbol.dispose]();
  expect([...names]).toEqual([]);
  expect(await readdir(join(home, "supplies"))).not.toHaveLength(0);
  await supplies.remove(two);
  expect(await readdir(join(home, "supplies"))).toEqual([]);
  expect(await readFile(join(two, "file"), "utf8")).toBe("content of two");
});

test("a supply is a stick where somebody has carried to it, also for the next agent, and an old folder else", async () => {
  const [old, stick] = [await makeOld("old"), await makeOld("stick")];
  await mkdir(join(stick, "runnel-carry/packs"), { recursive: true });
  const kinds = async (): Promise<string[]> => {
    const found: ChunkSource[] = [];
    supplies.attach((source) => {
      found.push(source);
      return { [Symbol.dispose]: () => undefined };
    });
    await supplies.scanned();
    return found.map(({ name, kind }) => `${basename(name)}: ${kind}`).toSorted();
  };
  await supplies.add(old);
  await supplies.add(stick);
  await supplies.scanned();
  expect(await kinds()).toEqual(["old: folder", "stick: stick"]);
  await supplies.close();
  supplies = await open();
  expect(await kinds()).toEqual(["old: folder", "stick: stick"]);
});

test("a folder that is not there, a file, one that is no supply, and one too many are refused by name", async () => {
  await expect(supplies.add(join(folder, "nowhere"))).rejects.toMatchObject({ kind: "NotFound" });
  const old = await makeOld("old");
  await expect(supplies.add(join(old, "file"))).rejects.toMatchObject({ kind: "NotFolder" });
  await expect(supplies.remove(old)).rejects.toMatchObject({ kind: "NotFound" });
  for (let count = 0; count < 16; count++) await supplies.add(await makeOld(`old-${count}`));
  await expect(supplies.add(old)).rejects.toMatchObject({ kind: "TooLarge", detail: { limit: 16 } });
  expect(supplies.list()).toHaveLength(16);
});

test("[F224] a damaged list is kept aside and told of; a newer one is refused", async () => {
  await supplies.close();
  await writeFile(join(home, "supplies.json"), '{"format": 1, "folders": [7]}');
  const told: string[] = [];
  supplies = await open((message) => void told.push(message));
  expect(supplies.list()).toEqual([]);
  expect(told).toEqual([expect.stringContaining("supplies.damaged.json")]);
  await writeFile(join(home, "supplies.json"), '{"format": 2, "folders": []}');
  await expect(open()).rejects.toMatchObject({ kind: "Version", detail: { need: 2 } });
});

test("what lies in the agent's home is not looked at", async () => {
  await writeFile(join(home, "secret"), "a secret");
  await makeOld("old");
  await supplies.add(folder);
  await supplies.scanned();
  expect(supplies.list()).toMatchObject([{ files: 1 }]);
});
