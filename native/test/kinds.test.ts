// Kinds of failures on both sides of the addon: the same list in the same order, and each survives the way through it.
import { constants, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ERROR_KINDS } from "@runnel/shared";
import { ERRNO_OF_KIND } from "../src/drive/errno-of-kind.ts";
import { memoryRig } from "./support/memory-rig.ts";

const HEADER = join(import.meta.dirname, "../src/drive/kinds.h");

test("C++ has the kinds of errors.ts in their order, and those of the drive alone behind them", () => {
  const list = /enum class Kind : uint8_t \{(.*?)\}/s.exec(readFileSync(HEADER, "utf8"))?.[1] ?? "";
  const kinds = [...list.matchAll(/^ *k(\w+),/gm)].map(([, kind]) => kind);
  expect(kinds).toEqual(["None", ...ERROR_KINDS, "PastEnd", "BufferTooSmall", "TooManyOpen", "Count"]);
});

test("each kind that the agent gives comes back as it is, and to programs as its errno", async () => {
  const rig = await memoryRig();
  try {
    const fd = await rig.program.open("a", constants.O_WRONLY | constants.O_CREAT);
    for (const kind of ERROR_KINDS) {
      await rig.program.write(fd, 0, Buffer.from(kind));
      rig.fake.failNext("commit", kind);
      expect(await rig.fake.commitDirty()).toBe(kind);
      rig.fake.failNext("commit", kind);
      await expect(rig.program.fsync(fd)).rejects.toMatchObject({ errno: ERRNO_OF_KIND[kind] });
    }
    await rig.program.close(fd);
  } finally {
    await rig.close();
  }
});
