// Names that a file system refuses: found by trying, refused before they are committed.
import { afterEach, describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import { NO_NAME_LIMITS, checkHeld, findNameLimits } from "../../../../src/content/folder/disk/name-limits.ts";
import { TestVolume, folderStore } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

/**
 * The served folder's disk, with a say about the names of files that are made. `held`: what becomes of a name;
 * undefined = refused.
 */
async function diskThat(held: (name: string) => string | undefined): Promise<DiskRoot> {
  volume = new TestVolume(1, folderStore({}));
  await volume.start();
  await volume.settle();
  const root = volume.other;
  return new Proxy(root, {
    get(target, key) {
      if (key !== "open") return (target as unknown as Record<PropertyKey, () => unknown>)[key]?.bind(target);
      return (path: string, ...more: ["create", number]) => {
        const slash = path.lastIndexOf("/") + 1;
        const name = held(path.slice(slash));
        if (name === undefined) return Promise.reject(new RunnelError("Io", "open", "Invalid argument"));
        return target.open(path.slice(0, slash) + name, ...more);
      };
    },
  });
}

describe("the names that a file system holds", () => {
  test("are all, on an ordinary one", async () => {
    expect(await findNameLimits(await diskThat((name) => name))).toBe(NO_NAME_LIMITS);
  });

  test("are fewer where it refuses characters and lengths, and drops what ends a name", async () => {
    const root = await diskThat((name) =>
      // eslint-disable-next-line no-control-regex
      /[:*?"<>|\\\u0000-\u001f]/.test(name) || name.length > 143 ? undefined : name.replace(/[. ]+$/, ""),
    );
    expect(await findNameLimits(root)).toEqual({
      characters: ['"', "*", ":", "<", ">", "?", "\\", "|"],
      controls: true,
      ends: [".", " "],
      bytesMax: 143,
    });
  });

  test("are not known where no file can be made at all", async () => {
    expect(await findNameLimits(await diskThat(() => undefined))).toBe(NO_NAME_LIMITS);
  });

  test.each([
    ["a:b", "BadName", 'A name must not have ":" in it'],
    ["a\nb", "BadName", "A name must not have control characters in it"],
    ["end.", "BadName", "A name must not end in a dot or a blank"],
    ["\u00fc".repeat(72), "NameTooLong", "A name must not be longer than 143 bytes in UTF-8"],
  ])("that it does not are refused with the rule: %j is %s", async (name, kind, sentence) => {
    volume = new TestVolume(1, folderStore({}));
    await volume.start();
    const limits = { characters: [":"], controls: true, ends: [".", " "], bytesMax: 143 };
    expect(() => checkHeld(name, limits)).toThrow(
      expect.objectContaining({
        kind,
        message: `${sentence}: the file system of the server's folder cannot hold it.`,
        detail: { rule: "file system" },
      }),
    );
    expect(() => checkHeld("fine.txt", limits)).not.toThrow();
  });
});
