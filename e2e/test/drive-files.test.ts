// The files of a mount keep the contract of a volume's files, over the wire, on simulated ground; and an object's whole
// life passes there in a moment.
import { expect, test } from "@jest/globals";
import { LocalFiles, openObject, putObject } from "@runnel/app/internals";
import { volumeFilesContract } from "@runnel/app/test/objects/volume-files-contract.ts";
import { FIXED_CHUNKS_FEATURE, OBJECTS_FOLDER, PROTOCOL_FEATURES, SeededRandom } from "@runnel/shared";
import { SimulatedPlace } from "../src/simulation/index.ts";

const HOUR_MS = 3_600_000;

/** A mount, with time that passes until it is closed. */
async function openPlace(): Promise<{ place: SimulatedPlace; close(): Promise<void> }> {
  const place = new SimulatedPlace(1, { delayMs: 15, bytesPerSecond: 2_000_000 });
  await place.open({});
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const passing = place.run(ended);
  const close = async (): Promise<void> => {
    end();
    await passing;
    await place.close();
  };
  return { place, close };
}

volumeFilesContract("of a mount", async () => {
  const { place, close } = await openPlace();
  return { files: place.mount.files, close };
});

test("an object is put, got, put again, and removed by the server once its time is over", async () => {
  const place = new SimulatedPlace(1, { delayMs: 15, bytesPerSecond: 2_000_000 });
  await place.open({});
  const { clock, disk, mount } = place;
  const root = await disk.openRoot("/home", { permissions: 0o700 });
  const bytes = new SeededRandom(1).bytes(100_000);
  await root.writeFile("file", bytes, { mode: "create", permissions: 0o600 });
  const local = new LocalFiles(disk);
  const put = async (lifeMs: number): ReturnType<typeof putObject> => {
    await using source = await local.open("/home/file");
    return await putObject(mount.files, source, clock, { lifeMs, signal: new AbortController().signal });
  };
  const first = await place.run(put(HOUR_MS));
  expect(first.wasThere).toBe(false);
  await clock.advance(HOUR_MS / 2);
  expect(await place.run(put(HOUR_MS))).toMatchObject({ oid: first.oid, wasThere: true });
  await clock.advance(0.75 * HOUR_MS);
  const names = async (): Promise<string[]> => (await mount.files.list(OBJECTS_FOLDER)).map(({ name }) => name);
  expect(await place.run(names())).toEqual([first.oid]);
  await place.run((async () => (await openObject(mount.files, first))[Symbol.asyncDispose]())());
  await clock.advance(HOUR_MS / 2);
  expect(await place.run(names())).toEqual([]);
  await expect(place.run(openObject(mount.files, first))).rejects.toMatchObject({ kind: "NotFound" });
  await place.close();
});

test("[W178] [W211] a server that knows no fixed chunks is not asked for them: nothing is made there", async () => {
  const before = [...PROTOCOL_FEATURES];
  (PROTOCOL_FEATURES as string[]).splice(before.indexOf(FIXED_CHUNKS_FEATURE), 1);
  try {
    const place = new SimulatedPlace(1, { delayMs: 15, bytesPerSecond: 2_000_000 });
    await place.open({});
    const root = await place.disk.openRoot("/home", { permissions: 0o700 });
    await root.writeFile("file", new SeededRandom(1).bytes(100_000), { mode: "create", permissions: 0o600 });
    await using source = await new LocalFiles(place.disk).open("/home/file");
    const { files } = place.mount;
    const options = { lifeMs: HOUR_MS, signal: new AbortController().signal };
    const fixed = place.run(putObject(files, source, place.clock, { ...options, chunks: "fixed" }));
    await expect(fixed).rejects.toMatchObject({ kind: "Unsupported" });
    expect(await place.run(files.list(OBJECTS_FOLDER))).toEqual([]);
    await place.run(putObject(files, source, place.clock, options));
    await place.close();
  } finally {
    (PROTOCOL_FEATURES as string[]).splice(0, Infinity, ...before);
  }
});
