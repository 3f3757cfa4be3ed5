import { afterEach, describe, expect, it } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { contentContract } from "./content-contract.ts";
import { TestVolume, folderStore } from "./test-volume.ts";

contentContract("folder", folderStore());

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<TestVolume> {
  volume = new TestVolume();
  await volume.start();
  await volume.settle();
  return volume;
}

describe("commits brought up", () => {
  it("are plain files, folders and symlinks in the served folder", async () => {
    await started();
    const folder = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
    const node = await volume.file(folder, "a.txt", "hello");
    await volume.make(folder, "link", { type: "symlink", target: "/etc/passwd" });
    await volume.settle();
    expect(await volume.files()).toEqual(
      new Map([
        ["docs", "folder"],
        ["docs/a.txt", "file hello"],
        ["docs/link", "symlink /etc/passwd"],
      ]),
    );
    expect(await volume.tree()).toEqual(await volume.files());
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined, conflicts: [], lost: [] });
    const written = await volume.write(node, "hello world");
    await volume.store.whenUp(written.seq);
    expect(await volume.readFile("docs/a.txt")).toBe("hello world");
    await volume.rename(folder, "a.txt", ROOT_NODE, "b.txt");
    await volume.remove(folder, "link");
    await volume.settle();
    expect([...(await volume.files()).keys()]).toEqual(["b.txt", "docs"]);
    expect(volume.externals.flat().map(({ op }) => op)).toEqual(["externalAttributes"]);
    expect((await volume.meta.facts()).upSeq).toBe((await volume.meta.facts()).seq);
  });
});
