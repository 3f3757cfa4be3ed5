// Contents that could not be sent: programs see them, what they save next holds them, nothing takes their place that
// does not, and they arrive once, as the file or beside it.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { constants, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Program } from "@runnel/native/drive";
import { sleep } from "@runnel/shared";
import { SimulatedPlace, noiseOf } from "../src/simulation/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const BASE = noiseOf(1, 300 * KiB);
const EDIT = noiseOf(2, 40 * KiB);
const EDIT_AT = 100 * KiB;
const LINE = Buffer.from("a line by another program\n");
const DEADLINE_MS = 120_000;

let place: SimulatedPlace;
let program: Program;

beforeEach(async () => {
  place = new SimulatedPlace(1, { delayMs: 10, bytesPerSecond: 1_000_000 });
  await place.open({ file: BASE, other: Buffer.from("other"), large: noiseOf(4, 4 * MiB) });
  program = place.drive.program();
}, DEADLINE_MS);

afterEach(() => place.close(), DEADLINE_MS);

function edited(...edits: [at: number, bytes: Uint8Array][]): Buffer {
  const size = Math.max(BASE.length, ...edits.map(([at, bytes]) => at + bytes.length));
  const all = Buffer.alloc(size);
  all.set(BASE);
  for (const [at, bytes] of edits) all.set(bytes, at);
  return all;
}

/** Opens, writes and closes; what the close said. */
async function save(path: string, at: number, bytes: Uint8Array, flags: number = constants.O_RDWR): Promise<string> {
  const work = async (): Promise<string> => {
    const fd = await program.open(path, flags);
    await program.write(fd, at, bytes);
    return program.close(fd).then(
      () => "saved",
      () => "failed",
    );
  };
  return place.run(work());
}

async function read(path: string): Promise<Buffer> {
  const work = async (): Promise<Uint8Array> => {
    const fd = await program.open(path, constants.O_RDONLY);
    const { sizeBytes } = await program.stat(path);
    const parts: Uint8Array[] = [];
    for (let at = 0; at < sizeBytes; at += 64 * KiB) parts.push(await program.read(fd, at, 64 * KiB));
    await program.close(fd);
    return Buffer.concat(parts);
  };
  return Buffer.from(await place.run(work()));
}

/** The server refuses whatever takes room. */
function fillServer(): void {
  place.disk.fault = (operation) =>
    ["write", "append", "reserve", "copyFrom"].includes(operation) ? "NoSpace" : undefined;
}

async function unsentFiles(): Promise<number> {
  return (await place.run(place.mount.status(false))).unsentFiles;
}

/** A save of the file over a line that goes away; afterwards that is back, and the save is still unsent. */
async function failedSave(): Promise<void> {
  await read("file");
  const work = async (): Promise<void> => {
    const fd = await program.open("file", constants.O_RDWR);
    place.line.takeDown();
    await program.write(fd, EDIT_AT, EDIT);
    await expect(program.close(fd)).rejects.toMatchObject({ errno: 5 });
  };
  await place.run(work());
  expect(await unsentFiles()).toBe(1);
}

async function connected(): Promise<void> {
  await place.until(async () => (await place.mount.status(false)).state === "connected");
}

async function servedNames(): Promise<string[]> {
  const names: string[] = [];
  await place.run(
    place.served.list("", (entries) => {
      for (const { name } of entries) if (name !== undefined && !name.startsWith(".runnel")) names.push(name);
    }),
  );
  return names.sort();
}

async function servedFile(name: string): Promise<Buffer> {
  const work = async (): Promise<Buffer> => {
    const file = await place.served.open(name, "read");
    const bytes = await file.read(0, (await file.stat()).sizeBytes);
    await file.close();
    return Buffer.from(bytes);
  };
  return place.run(work());
}

describe("a content that could not be sent", () => {
  test(
    "is what programs see, also in another life of the agent, and a save over it holds it",
    async () => {
      await failedSave();
      expect((await read("file")).equals(edited([EDIT_AT, EDIT]))).toBe(true);
      await place.remount();
      program = place.drive.program();
      expect((await read("file")).equals(edited([EDIT_AT, EDIT]))).toBe(true);
      fillServer();
      place.line.restore();
      await connected();
      // The server refuses it, and what is saved over it.
      expect(await save("file", BASE.length, LINE)).toBe("failed");
      expect((await read("file")).equals(edited([EDIT_AT, EDIT], [BASE.length, LINE]))).toBe(true);
      place.disk.fault = undefined;
      expect(await save("file", 0, LINE)).toBe("saved");
      await place.settle();
      const all = edited([EDIT_AT, EDIT], [BASE.length, LINE], [0, LINE]);
      expect((await servedFile("file")).equals(all)).toBe(true);
      expect((await read("file")).equals(all)).toBe(true);
      expect(await servedNames()).toEqual(["file", "large", "other"]);
      expect((await place.run(place.mount.status(false))).conflicts).toEqual([]);
    },
    DEADLINE_MS,
  );

  test.each(["the program closes it", "all is flushed", "another program touches it"])(
    "is not sent again over what came after it when %s",
    async (how) => {
      await read("file");
      const fd = await place.run(program.open("file", constants.O_RDWR));
      place.line.takeDown();
      await place.run(program.write(fd, EDIT_AT, EDIT));
      await place.run(expect(program.fsync(fd)).rejects.toMatchObject({ errno: 5 }));
      place.line.restore();
      await place.until(async () => (await unsentFiles()) === 0);
      expect((await servedFile("file")).equals(edited([EDIT_AT, EDIT]))).toBe(true);
      await place.run(place.changeServed("file", Buffer.from("changed there")));
      if (how === "all is flushed") await place.run(place.mount.flush(false));
      if (how === "another program touches it")
        await place.run(program.open("file", constants.O_RDWR).then((other) => program.close(other)));
      await place.run(program.close(fd));
      await place.settle();
      expect((await servedFile("file")).subarray(0, 20).toString()).toBe("changed there");
      expect((await read("file")).subarray(0, 20).toString()).toBe("changed there");
      expect((await place.run(place.mount.status(false))).conflicts).toEqual([]);
    },
    DEADLINE_MS,
  );

  test(
    "does not show those who open the file what others have replaced since, while a reader still has it open",
    async () => {
      await read("file");
      const reader = await place.run(program.open("file", constants.O_RDONLY));
      await failedSave();
      place.line.restore();
      await place.until(async () => (await unsentFiles()) === 0);
      await place.run(place.changeServed("file", Buffer.from("changed there")));
      await place.settle();
      expect((await read("file")).subarray(0, 20).toString()).toBe("changed there");
      await place.run(program.close(reader));
    },
    DEADLINE_MS,
  );

  test(
    "is cut by truncate(2) as it is seen",
    async () => {
      await failedSave();
      place.line.restore();
      fillServer();
      await connected();
      place.disk.fault = undefined;
      await place.run(program.truncate("file", EDIT_AT + 10));
      await place.settle();
      expect((await servedFile("file")).equals(edited([EDIT_AT, EDIT]).subarray(0, EDIT_AT + 10))).toBe(true);
      expect(await servedNames()).toEqual(["file", "large", "other"]);
    },
    DEADLINE_MS,
  );

  test(
    "[F101] becomes one copy when the file was changed elsewhere, of its mode, and its upload goes on after each cut",
    async () => {
      const whole = noiseOf(3, 3 * MiB);
      await place.run(program.chmod("file", 0o640));
      await failedSave();
      place.line.restore();
      await place.settle();
      // Now a large one, and the file changes meanwhile.
      const work = async (): Promise<void> => {
        const fd = await program.open("file", constants.O_RDWR | constants.O_TRUNC);
        place.line.takeDown();
        for (let at = 0; at < whole.length; at += 128 * KiB)
          await program.write(fd, at, whole.subarray(at, at + 128 * KiB));
        await expect(program.close(fd)).rejects.toMatchObject({ errno: 5 });
      };
      await place.run(work());
      await place.run(place.changeServed("file", Buffer.from("changed there")));
      const before = place.line.uploadedBytes;
      for (let cut = 1; cut <= 3; cut++) {
        place.line.restore();
        await place.until(async () => place.line.uploadedBytes - before > cut * 700 * KiB);
        place.line.takeDown();
        await place.run(sleep(place.clock, 3000));
      }
      place.line.restore();
      await connected();
      await place.settle();
      const [file, copy = "", ...others] = await servedNames();
      expect([file, ...others]).toEqual(["file", "large", "other"]);
      expect(copy).toMatch(/^file \(unsent .*\)$/);
      expect((await servedFile(copy)).equals(whole)).toBe(true);
      expect((await servedFile("file")).toString()).toBe("changed there");
      expect((await place.run(program.stat(copy))).mode & 0o777).toBe(0o640);
      expect(place.line.uploadedBytes - before).toBeLessThan(whole.length + 3 * 64 * KiB);
    },
    DEADLINE_MS,
  );

  test(
    "that the server refuses holds up nothing else; it is copied and given up, and then the file is the server's",
    async () => {
      await read("file");
      fillServer();
      expect(await save("file", EDIT_AT, EDIT)).toBe("failed");
      const flushed = await place.run(place.mount.flush(false));
      expect(flushed).toMatchObject([{ path: "file", isStuck: true, sizeBytes: BASE.length }]);
      const ids = flushed.map(({ id }) => id);
      const folder = mkdtempSync(join(tmpdir(), "runnel-exported-"));
      try {
        for (const path of ["file", "file 2"])
          expect(await place.run(place.mount.unsentFiles.exportTo(folder, ids))).toMatchObject([
            { path, isWhole: true },
          ]);
        expect(readFileSync(join(folder, "file 2")).equals(edited([EDIT_AT, EDIT]))).toBe(true);
      } finally {
        rmSync(folder, { recursive: true });
      }
      const fd = await place.run(program.open("file", constants.O_RDONLY));
      await expect(place.run(place.mount.unsentFiles.discard(ids))).rejects.toMatchObject({ kind: "Busy" });
      await place.run(program.close(fd));
      await place.run(place.mount.unsentFiles.discard(ids));
      expect(place.mount.unsentFiles.list()).toEqual([]);
      expect((await read("file")).equals(BASE)).toBe(true);
      place.disk.fault = undefined;
      await place.run(place.mount.remove("other"));
      await place.settle();
      expect(await servedNames()).toEqual(["file", "large"]);
    },
    DEADLINE_MS,
  );

  test(
    "whose base another program has destroyed, where it is not here, leaves no empty file beside it",
    async () => {
      // The recipe of the version that this makes is here, and little else.
      expect(await save("large", EDIT_AT, EDIT)).toBe("saved");
      await place.settle();
      const fd = await place.run(program.open("large", constants.O_RDWR));
      place.line.takeDown();
      await place.run(program.write(fd, EDIT_AT, LINE));
      await place.run(expect(program.close(fd)).rejects.toMatchObject({ errno: 5 }));
      const file = await place.run(place.served.open("large", "write"));
      await place.run(file.write(3 * MiB, EDIT));
      await place.run(file.close());
      place.line.restore();
      await connected();
      const copies = new Set<string>();
      let [seen, last] = [0, 0];
      for (; seen < 1200; seen++) {
        await place.run(sleep(place.clock, 100));
        for (const name of await servedNames()) {
          if (!name.startsWith("large (")) continue;
          copies.add(name);
          last = seen;
        }
      }
      // Made once, when it was not known yet that it stays empty.
      expect(copies.size).toBe(1);
      expect(last).toBeLessThan(350);
      expect(place.mount.unsentFiles.list()).toMatchObject([{ path: "large", isStuck: true, sizeBytes: 4 * MiB }]);
      const [id] = place.mount.unsentFiles.list().map((item) => item.id);
      await place.run(place.mount.unsentFiles.discard([id ?? ""]));
      await place.settle();
      expect(await servedNames()).toEqual(["file", "large", "other"]);
    },
    DEADLINE_MS,
  );

  test(
    "of a file that a person removes goes with it",
    async () => {
      fillServer();
      expect(await save("file", EDIT_AT, EDIT)).toBe("failed");
      place.disk.fault = undefined;
      await place.run(place.mount.remove("file"));
      await place.settle();
      expect(await servedNames()).toEqual(["large", "other"]);
    },
    DEADLINE_MS,
  );
});

test(
  "a conflict names the path of a file that lost its name while it was open",
  async () => {
    const fd = await place.run(program.open("other", constants.O_RDWR));
    await place.run(program.write(fd, 0, Buffer.from("all of it is mine")));
    await place.run(place.served.removeFile("other"));
    await place.until(async () => !(await program.readdir("")).includes("other"));
    await place.run(program.close(fd));
    const listed = async (): Promise<unknown[]> => (await place.mount.status(false)).conflicts;
    // The server tells of it by itself.
    await place.until(async () => (await listed()).length > 0);
    expect(await place.run(listed())).toMatchObject([
      { path: "other", conflictCopy: expect.stringMatching(/^other \(conflict .*\)$/) },
    ]);
  },
  DEADLINE_MS,
);

test(
  "what was saved is opened without asking the agent, before it is sent and after",
  async () => {
    fillServer();
    expect(await save("file", 0, EDIT, constants.O_RDWR | constants.O_TRUNC)).toBe("failed");
    const opensAsked = (): number => place.drive.statistics().passed["open"] ?? 0;
    const before = opensAsked();
    expect(await read("file")).toEqual(EDIT);
    place.disk.fault = undefined;
    await place.settle();
    expect(await read("file")).toEqual(EDIT);
    expect(opensAsked()).toBe(before);
  },
  DEADLINE_MS,
);
