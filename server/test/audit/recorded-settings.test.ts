// Changes of volumes and settings by a start are recorded, once.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { NewEntry } from "../../src/audit/audit-entry.ts";
import { type RecordedSettings, recordChanges } from "../../src/audit/recorded-settings.ts";
import { AuditRig } from "./audit-rig.ts";

let rig: AuditRig;

beforeEach(async () => {
  rig = await AuditRig.open();
});

afterEach(() => rig.log.close());

async function changes(now: RecordedSettings): Promise<[string, string, string | undefined][]> {
  const entries: NewEntry[] = [];
  await recordChanges(rig.root, now, async (entry) => void entries.push(entry));
  return entries.map(({ act, object = "", detail }) => [act, object, detail]);
}

const FIRST = {
  volumes: { docs: "/srv/docs", photos: "/srv/photos" },
  settings: { listen: "0.0.0.0:7473", user: "run" },
};

test("[F187] says all at first, then what is another than at the last start", async () => {
  await rig.log.record({
    who: { kind: "server", id: "", name: "", person: "", address: "" },
    act: "lost",
    result: "done",
  });
  expect(await changes(FIRST)).toEqual([
    ["volumeAdd", "docs", "/srv/docs"],
    ["volumeAdd", "photos", "/srv/photos"],
    ["setting", "listen", "0.0.0.0:7473"],
    ["setting", "user", "run"],
  ]);
  expect(await changes(FIRST)).toEqual([]);
  const second = {
    volumes: { docs: "/mnt/docs", constructor: "/srv/c" },
    settings: { listen: "0.0.0.0:1", termMs: "5" },
  };
  expect(await changes(second)).toEqual([
    ["volumeMove", "docs", "/srv/docs → /mnt/docs"],
    ["volumeRemove", "photos", "/srv/photos"],
    ["volumeAdd", "constructor", "/srv/c"],
    ["setting", "listen", "0.0.0.0:7473 → 0.0.0.0:1"],
    ["setting", "user", "run → none"],
    ["setting", "termMs", "5"],
  ]);
  expect(await changes(second)).toEqual([]);
});

test("[F187] says all again when what was remembered is damaged", async () => {
  await rig.log.record({
    who: { kind: "server", id: "", name: "", person: "", address: "" },
    act: "lost",
    result: "done",
  });
  await changes(FIRST);
  await rig.write("audit/settings.json", "{");
  expect(await changes(FIRST)).toHaveLength(4);
  expect(await changes(FIRST)).toEqual([]);
});
