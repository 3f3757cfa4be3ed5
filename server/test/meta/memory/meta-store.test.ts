import { expect, test } from "@jest/globals";
import { MemoryMetaImage, openMemoryMetaStore } from "../../../src/meta/memory/meta-store.ts";
import { describeMetaStore } from "../meta-contract.ts";
import { EPOCH, FILE, Harness, ROOT } from "../meta-harness.ts";
import type { Place } from "../meta-harness.ts";

function memoryPlace(): Place {
  let image = new MemoryMetaImage();
  return {
    open: (options) => openMemoryMetaStore(image, options),
    discard: () => {
      image = new MemoryMetaImage();
    },
  };
}

describeMetaStore("memory", memoryPlace);

test("a simulated power cut loses what was committed since the last checkpoint or durable write, and no more", async () => {
  const image = new MemoryMetaImage();
  const h = new Harness(await openMemoryMetaStore(image, { create: { epoch: EPOCH } }));
  await h.make(ROOT, "a");
  await h.store.checkpoint();
  await h.make(ROOT, "b");
  await h.store.setAttached("here", 20_000);
  await h.make(ROOT, "c");
  await h.store.close();
  image.cutPower();
  const again = new Harness(await openMemoryMetaStore(image));
  expect(await again.names(ROOT)).toEqual(["a", "b"]);
  expect(await again.store.facts()).toMatchObject({ seq: 2 });
  expect(await again.make(ROOT, "d", FILE, "again")).toBe(66);
  await again.store.close();
});
