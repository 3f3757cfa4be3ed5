// Staged files in temp/ after a restart.
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { type TestVolume, namesIn, startedVolume } from "../test-volume.ts";

let volume: TestVolume;

afterEach(async () => {
  await volume.store.close();
});

async function started(): Promise<void> {
  volume = await startedVolume();
}

describe("temp/", () => {
  test("[F24] keeps what pending commits need, and nothing else", async () => {
    await started();
    await volume.store.stage();
    const staged = await volume.store.stage();
    await staged.write(0, Buffer.from("staged"));
    await staged.sync(6);
    volume.disk.fault = (operation) => (operation === "rename" ? "Io" : undefined);
    const node = await volume.make(ROOT_NODE, "file");
    await volume.write(node, "", { temp: staged.name, runs: [{ from: "temp", length: 6 }], sizeBytes: 6 });
    await volume.clock.advance(0);
    volume.kill();
    await volume.restart();
    await volume.settle();
    expect(await volume.readFile("file")).toBe("staged");
    expect(await namesIn(volume.other, ".runnel-store/temp")).toEqual([]);
  });
});
