// The contract of MetaStore, called by every engine's test file.
import { describe } from "@jest/globals";
import { describeContent } from "./contract-content.ts";
import { describeExternal } from "./contract-external.ts";
import { describeNames } from "./contract-names.ts";
import { describeOldRows } from "./contract-old-rows.ts";
import { describeStore } from "./contract-store.ts";
import { EPOCH, Harness } from "./meta-harness.ts";
import type { Place } from "./meta-harness.ts";

export function describeMetaStore(engine: string, newPlace: () => Place): void {
  const using = (work: (h: Harness, place: Place) => Promise<void>) => async (): Promise<void> => {
    const place = newPlace();
    const harness = new Harness(await place.open({ create: { epoch: EPOCH } }));
    try {
      await work(harness, place);
    } finally {
      await harness.store.close();
      place.discard();
    }
  };
  describe(`meta store, ${engine} engine`, () => {
    describeNames(using);
    describeContent(using);
    describeExternal(using);
    describeStore(using);
    describeOldRows(using);
  });
}
