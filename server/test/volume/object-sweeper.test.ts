// Objects whose time is over go, and nothing else ever does.
import { expect, test } from "@jest/globals";
import { OBJECTS_FOLDER, ROOT_NODE, UNTIL_XATTR, formatUntil } from "@runnel/shared";
import { VolumeRig, bytesOf } from "./volume-rig.ts";

const MINUTE_MS = 60_000;
const oidOf = (index: number): string => index.toString(16).padStart(64, "0");

class Place {
  readonly rig: VolumeRig;
  readonly folder: number;

  private constructor(rig: VolumeRig, folder: number) {
    this.rig = rig;
    this.folder = folder;
  }

  static async open(): Promise<Place> {
    const rig = await VolumeRig.open();
    return new Place(rig, await rig.make(ROOT_NODE, OBJECTS_FOLDER, { type: "folder", mode: 0o755 }));
  }

  /** A second so many minutes from now. */
  inMinutes(minutes: number): Uint8Array {
    return formatUntil(Number(this.rig.clock.wallNs() / 1_000_000_000n) + minutes * 60);
  }

  async put(name: string, until: Uint8Array | undefined, folder = this.folder): Promise<number> {
    const node = await this.rig.make(folder, name);
    if (until !== undefined) await this.keep(node, until);
    return node;
  }

  keep(node: number, until: Uint8Array): Promise<unknown> {
    return this.rig.run(this.rig.commit({ op: "setAttr", node, change: { xattr: [UNTIL_XATTR, until] } }));
  }

  async names(folder = this.folder): Promise<string[]> {
    return (await this.rig.volume.meta.list(folder, "", 10_000)).map(({ name }) => name);
  }

  async pass(minutes: number): Promise<void> {
    await this.rig.clock.advance(minutes * MINUTE_MS);
    await this.rig.settle();
  }
}

test("an object goes once its time is over, from index, feed and plain folder; one that is wanted longer stays", async () => {
  const place = await Place.open();
  const { rig } = place;
  const node = await place.put(oidOf(1), place.inMinutes(5));
  await rig.write(node, bytesOf(1, 50_000));
  const longer = await place.put(oidOf(2), place.inMinutes(5));
  await place.pass(3);
  expect(await place.names()).toEqual([oidOf(1), oidOf(2)]);
  await place.keep(longer, place.inMinutes(60));
  const seq = rig.volume.seq;
  await place.pass(5);
  expect(await place.names()).toEqual([oidOf(2)]);
  const changes = await rig.volume.meta.changesAfter(seq, 10);
  expect(changes.map(({ bindings }) => bindings)).toEqual([[{ folder: place.folder, name: oidOf(1), node: 0 }]]);
  const there: (string | undefined)[] = [];
  await rig.other.list(OBJECTS_FOLDER, (entries) => void there.push(...entries.map(({ name }) => name)));
  expect(there).toEqual([oidOf(2)]);
  await rig.close();
});

test("what is no object stays, whatever it says: other names, other places, folders, and objects that say no time", async () => {
  const place = await Place.open();
  const { rig, folder } = place;
  const over = place.inMinutes(1);
  const deeper = await rig.make(folder, "deeper", { type: "folder", mode: 0o755 });
  await place.put("report.txt", over);
  await place.put(oidOf(3).toUpperCase().replace("3", "A"), over);
  await place.put(oidOf(4), undefined);
  await place.put(oidOf(5), new TextEncoder().encode("soon"));
  await place.put(oidOf(6), over, deeper);
  await place.put(oidOf(7), over, ROOT_NODE);
  const asFolder = await rig.make(folder, oidOf(8), { type: "folder", mode: 0o755 });
  await place.keep(asFolder, over);
  const before = [await place.names(), await place.names(deeper), await place.names(ROOT_NODE)];
  await place.pass(10);
  expect([await place.names(), await place.names(deeper), await place.names(ROOT_NODE)]).toEqual(before);
  await rig.close();
});

test("many go in several commits, also those that became too old while the server was down", async () => {
  const place = await Place.open();
  const { rig } = place;
  const until = place.inMinutes(1);
  const MANY = 730;
  for (let index = 0; index < MANY; index++) await place.put(oidOf(index), until);
  await place.put("kept.txt", until);
  await rig.kill();
  await rig.clock.advance(2 * MINUTE_MS);
  await rig.open();
  expect(await place.names()).toHaveLength(MANY + 1);
  await place.pass(3);
  expect(await place.names()).toEqual(["kept.txt"]);
  expect(rig.warnings).toEqual([]);
  await rig.close();
}, 60_000);
