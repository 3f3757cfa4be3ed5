import { describe, expect, test } from "@jest/globals";
import { sleep } from "../../src/host/clock.ts";
import { settle } from "../../src/host/simulated/simulated-clock.ts";
import { FORMAT, LogMachine, bytesOf, readText, replayed } from "./log-machine.ts";

describe("a log", () => {
  test("gives back what was appended, in order, across segments and openings", async () => {
    const machine = new LogMachine();
    let opened = await machine.open();
    expect(opened.tornBytes).toBe(0);
    const [first] = await opened.log.append([bytesOf("one"), bytesOf("two")]);
    expect(await opened.log.rotate()).toBe(2);
    await opened.log.write([bytesOf("three")]);
    await opened.log.close();
    opened = await machine.open();
    expect(await replayed(opened)).toEqual(["one", "two", "three"]);
    await opened.log.append([bytesOf("four")]);
    expect(await replayed(opened)).toEqual(["one", "two", "three", "four"]);
    expect(first).toEqual({ segment: 1, offset: 48, length: 3 });
    if (first !== undefined) expect(await readText(opened, first)).toBe("one");
    expect(opened.log.current.segment).toBe(2);
    await opened.log.close();
  });

  test("reads parts of a payload in place, and nothing beyond it", async () => {
    const opened = await new LogMachine().open();
    const [place] = await opened.log.append([bytesOf("0123456789")]);
    if (place === undefined) throw new Error("no place");
    expect(await opened.log.read(place, 3, 4)).toEqual(bytesOf("3456"));
    await expect(opened.log.read(place, 3, 8)).rejects.toThrow(RangeError);
    await expect(opened.log.read(place, -1, 2)).rejects.toThrow(RangeError);
    await opened.log.close();
  });

  test("tells a visitor the version, and waits for it", async () => {
    const opened = await new LogMachine().open();
    await opened.log.append([bytesOf("a"), bytesOf("b")]);
    const seen: string[] = [];
    await opened.log.replay(async ({ payload, version }) => {
      seen.push(`${version} begins ${Buffer.from(payload)}`);
      await settle();
      seen.push("ends");
    });
    expect(seen).toEqual(["1 begins a", "ends", "1 begins b", "ends"]);
    await opened.log.close();
  });

  test("shares a sync between the appends that came while another ran", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    let syncs = 0;
    machine.disk.delayMs = (operation) => {
      if (operation !== "sync") return 0;
      syncs += 1;
      return 10;
    };
    const done: number[] = [];
    const append = (number: number): void => {
      void log.append([bytesOf(`${number}`)]).then(() => done.push(number));
    };
    append(0);
    for (let number = 1; number < 50; number++) {
      await sleepAwake(machine, 0.1);
      append(number);
    }
    expect(done).toEqual([]);
    await machine.clock.advance(5.2);
    expect(done).toEqual([0]);
    await machine.clock.advance(10);
    expect(done).toHaveLength(50);
    expect(syncs).toBe(2);
  });

  test("writes without waiting for a sync that runs", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    machine.disk.delayMs = (operation) => (operation === "sync" ? 1000 : 0);
    const appended = log.append([bytesOf("slow")]);
    await settle();
    await log.write([bytesOf("quick")]);
    expect(machine.clock.bootMs()).toBe(1000);
    await machine.clock.advance(2000);
    await appended;
    machine.disk.delayMs = () => 0;
    await log.close();
  });

  test("refuses records that the format cannot hold", async () => {
    const { log } = await new LogMachine().open();
    await expect(log.append([new Uint8Array(0)])).rejects.toThrow(RangeError);
    await expect(log.append([new Uint8Array(2 ** 28 + 1)])).rejects.toMatchObject({ kind: "TooLarge" });
    expect(await log.append([])).toEqual([]);
    await log.close();
  });

  test("[F12] drops old segments; reading them is Gone, and a read that runs is finished first", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    const [place] = await opened.log.append([bytesOf("old")]);
    if (place === undefined) throw new Error("no place");
    await opened.log.rotate();
    await opened.log.append([bytesOf("new")]);
    machine.disk.delayMs = (operation) => (operation === "read" ? 50 : 0);
    const reading = readText(opened, place);
    const dropping = opened.log.dropBefore(2);
    await expect(opened.log.read(place, 0, 1)).rejects.toMatchObject({ kind: "Gone" });
    await machine.clock.advance(60);
    expect(await reading).toBe("old");
    await dropping;
    machine.disk.delayMs = () => 0;
    expect(await machine.names()).toEqual(["0000000002.log"]);
    expect(await replayed(opened)).toEqual(["new"]);
    await expect(opened.log.dropBefore(3)).rejects.toThrow(RangeError);
    await opened.log.close();
    expect(await replayed(await machine.open())).toEqual(["new"]);
  });

  test("[F12] goes on with a removal that failed, oldest first", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    for (let count = 0; count < 4; count++) {
      await opened.log.append([bytesOf(`${count}`)]);
      await opened.log.rotate();
    }
    let failures = 0;
    machine.disk.fault = (operation, path) =>
      operation === "removeFile" && path.includes("2.log") && failures++ === 0 ? "Io" : undefined;
    await expect(opened.log.dropBefore(4)).rejects.toMatchObject({ kind: "Io" });
    expect(await machine.names()).toEqual([2, 3, 4, 5].map((number) => `000000000${number}.log`));
    await opened.log.dropBefore(5);
    expect(await machine.names()).toEqual(["0000000005.log"]);
  });

  test("[F10] goes on after a write for which there was no room, without its records", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    await opened.log.append([bytesOf("kept")]);
    const before = opened.log.current.sizeBytes;
    machine.disk.capacityBytes = machine.disk.capacityBytes - machine.disk.freeBytes + 3 * 4096;
    await expect(opened.log.append([bytesOf("small"), new Uint8Array(100_000)])).rejects.toMatchObject({
      kind: "NoSpace",
    });
    expect(opened.log.current.sizeBytes).toBe(before);
    expect((await machine.read(1)).length).toBe(before);
    // The failure was told, so no power cut may bring the record back.
    await machine.crash();
    const again = await machine.open();
    expect(await replayed(again)).toEqual(["kept"]);
    await again.log.append([bytesOf("next")]);
    expect(await replayed(again)).toEqual(["kept", "next"]);
  });

  test("[F10] fails one write only, not those before and after it", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    machine.disk.delayMs = (operation) => (operation === "write" ? 5 : 0);
    let writes = 0;
    machine.disk.fault = (operation) => (operation === "write" && ++writes === 2 ? "NoSpace" : undefined);
    const results: Promise<string>[] = [];
    for (let number = 0; number < 3; number++) {
      results.push(
        opened.log.append([bytesOf(`${number}`)]).then(
          () => "done",
          (error: { kind: string }) => error.kind,
        ),
      );
      await settle();
      await machine.clock.advance(number === 0 ? 1 : 5);
    }
    await machine.clock.advance(50);
    expect(await Promise.all(results)).toEqual(["done", "NoSpace", "done"]);
    machine.disk.delayMs = () => 0;
    expect(await replayed(opened)).toEqual(["0", "2"]);
  });

  test("[F10] ends with a failed sync, until it is opened anew", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    await opened.log.append([bytesOf("safe")]);
    machine.disk.fault = (operation) => (operation === "sync" ? "Io" : undefined);
    await expect(opened.log.append([bytesOf("perhaps")])).rejects.toMatchObject({ kind: "Io" });
    machine.disk.fault = undefined;
    for (const refused of [
      opened.log.append([bytesOf("x")]),
      opened.log.write([bytesOf("x")]),
      opened.log.sync(),
      opened.log.rotate(),
    ]) {
      await expect(refused).rejects.toMatchObject({ kind: "Io", message: expect.stringContaining("opened anew") });
    }
    expect(await replayed(opened)).toEqual(["safe", "perhaps"]);
    await opened.log.close();
    expect((await replayed(await machine.open()))[0]).toBe("safe");
  });

  test("[F9] opening makes durable what a failed sync left in doubt", async () => {
    for (let seed = 0; seed < 30; seed++) {
      const machine = new LogMachine(seed);
      const opened = await machine.open();
      await opened.log.append([bytesOf("safe")]);
      machine.disk.fault = (operation) => (operation === "sync" ? "Io" : undefined);
      await expect(opened.log.append([new Uint8Array(5000).fill(65)])).rejects.toMatchObject({ kind: "Io" });
      machine.disk.fault = undefined;
      await opened.log.close();
      const seen = await replayed(await machine.open());
      await machine.crash();
      expect(await replayed(await machine.open())).toEqual(seen);
    }
  });

  test("[F9] opening makes durable what a killed process had only written", async () => {
    for (let seed = 0; seed < 30; seed++) {
      const machine = new LogMachine(seed);
      await (await machine.open()).log.write([bytesOf("written"), bytesOf("not synced")]);
      const seen = await replayed(await machine.open());
      expect(seen).toEqual(["written", "not synced"]);
      await machine.crash();
      expect(await replayed(await machine.open())).toEqual(seen);
    }
  });

  test("[F9] opening makes durable the name of a segment that a killed process had just made", async () => {
    for (let seed = 0; seed < 20; seed++) {
      const machine = new LogMachine(seed);
      machine.disk.fault = (operation, path) => (operation === "syncFolder" && path === "log" ? "Io" : undefined);
      await expect(machine.open()).rejects.toMatchObject({ kind: "Io" });
      machine.disk.fault = undefined;
      await (await machine.open()).log.append([bytesOf("a")]);
      await machine.crash();
      expect(await replayed(await machine.open())).toEqual(["a"]);
    }
  });

  test("[F11] goes on in the old segment when a new one cannot be made, and can try again", async () => {
    for (const operation of ["open", "write", "sync", "syncFolder"]) {
      const machine = new LogMachine();
      const opened = await machine.open();
      await opened.log.append([bytesOf("a")]);
      let failures = 0;
      machine.disk.fault = (name, path) =>
        name === operation && !path.includes("1.log") && failures++ === 0 ? "NoSpace" : undefined;
      await expect(opened.log.rotate()).rejects.toMatchObject({ kind: "NoSpace" });
      await opened.log.append([bytesOf("b")]);
      expect(await opened.log.rotate()).toBe(2);
      await opened.log.append([bytesOf("c")]);
      await machine.crash();
      expect(await replayed(await machine.open())).toEqual(["a", "b", "c"]);
    }
  });

  test("[F11] stops when what is left of a new segment cannot be removed", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    await opened.log.append([bytesOf("a")]);
    machine.disk.fault = (operation) => (operation === "syncFolder" ? "Io" : undefined);
    await expect(opened.log.rotate()).rejects.toMatchObject({ kind: "Io" });
    machine.disk.fault = undefined;
    await expect(opened.log.append([bytesOf("b")])).rejects.toMatchObject({ kind: "Io" });
    await opened.log.close();
    expect(await replayed(await machine.open())).toEqual(["a"]);
  });

  test("[F11] removes a segment that was never finished", async () => {
    for (const torn of [0, 5, 32]) {
      const machine = new LogMachine();
      const opened = await machine.open();
      await opened.log.append([bytesOf("a")]);
      await opened.log.close();
      await machine.replace(2, new Uint8Array(torn));
      const again = await machine.open();
      expect(again.tornBytes).toBe(torn);
      expect(await machine.names()).toEqual(["0000000001.log"]);
      await again.log.append([bytesOf("b")]);
      expect(await replayed(again)).toEqual(["a", "b"]);
    }
  });

  test("[F3] refuses a log of a newer version by name and leaves it alone", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open({ ...FORMAT, version: 2 });
    await log.append([bytesOf("from the future")]);
    const before = await machine.read(1);
    await expect(machine.open()).rejects.toMatchObject({
      kind: "Version",
      detail: { need: 2 },
      message: expect.stringContaining("newer Runnel"),
    });
    expect(await machine.read(1)).toEqual(before);
  });

  test("[F3] reads a log of an older version, and writes the new one to a segment of its own", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    await log.append([bytesOf("old")]);
    await log.close();
    const opened = await machine.open({ ...FORMAT, version: 2 });
    await opened.log.append([bytesOf("new")]);
    const versions: number[] = [];
    await opened.log.replay(({ version }) => {
      versions.push(version);
    });
    expect(versions).toEqual([1, 2]);
    expect(opened.log.current.segment).toBe(2);
  });

  test("[F1] leaves other files in its folder alone", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    await log.append([bytesOf("a")]);
    await log.close();
    await machine.root.makeFolder("log/data");
    await (await machine.root.open("log/1.log", "create")).close();
    const opened = await machine.open();
    expect(await replayed(opened)).toEqual(["a"]);
    expect(await machine.names()).toEqual(["0000000001.log", "1.log", "data"]);
  });

  test("[F8] gets its mark once, however often it is opened and closed", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    await opened.log.close();
    expect((await machine.read(1)).length).toBe(32);
    const second = await machine.open();
    await second.log.append([bytesOf("a")]);
    await second.log.close();
    const { length } = await machine.read(1);
    for (let count = 0; count < 3; count++) await (await machine.open()).log.close();
    expect((await machine.read(1)).length).toBe(length);
  });

  test("refuses everything once it is closed, but finishes what was asked before", async () => {
    const machine = new LogMachine();
    const opened = await machine.open();
    const { log } = opened;
    const appended = log.append([bytesOf("a")]);
    const written = log.write([bytesOf("b")]);
    const rotated = log.rotate();
    const closed = log.close();
    expect(log.close()).toBe(closed);
    const [place] = await appended;
    await written;
    if (place === undefined) throw new Error("no place");
    const refusedCalls = (): Promise<unknown>[] => [
      log.append([bytesOf("x")]),
      log.write([bytesOf("x")]),
      log.sync(),
      log.read(place, 0, 1),
      log.replay(() => {}),
      log.rotate(),
      log.dropBefore(1),
    ];
    for (const refused of refusedCalls()) await expect(refused).rejects.toMatchObject({ kind: "Interrupted" });
    await closed;
    for (const refused of refusedCalls()) await expect(refused).rejects.toMatchObject({ kind: "Interrupted" });
    expect(await rotated).toBe(2);
    expect(await replayed(await machine.open())).toEqual(["a", "b"]);
  });
});

async function sleepAwake(machine: LogMachine, ms: number): Promise<void> {
  const slept = sleep(machine.clock, ms);
  await machine.clock.advance(ms);
  await slept;
}
