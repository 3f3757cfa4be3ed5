// The NFS drive's wire: records, calls, handles, rights, and where connections come from.
import { describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { uidIn } from "../../src/drive/nfs/host/peer-uid.ts";
import { darwinMountArguments } from "../../src/drive/nfs/host/system-mount.ts";
import { accessOf, mayRead, mayWrite } from "../../src/drive/nfs/permission.ts";
import { FileHandles } from "../../src/drive/nfs/state/file-handles.ts";
import { FRAGMENTS_MAX, RECORD_BYTES_MAX } from "../../src/drive/nfs/wire/bounds.ts";
import { ACCESS, NFS_PROC, STATUS } from "../../src/drive/nfs/wire/constants.ts";
import { RecordSplitter } from "../../src/drive/nfs/wire/record-splitter.ts";
import { parseCall } from "../../src/drive/nfs/wire/rpc.ts";
import { decodeNfs, strictXdr } from "../../src/drive/nfs/wire/strict-xdr.ts";
import { callBytes, nfsCall, recordOf } from "./nfs-calls.ts";

const header = (isLast: boolean, length: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE((isLast ? 0x8000_0000 : 0) + length);
  return bytes;
};

describe("records", () => {
  test("come out as they went in, however they are cut and fragmented", () => {
    const records = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 6 });
    fc.assert(
      fc.property(
        records,
        fc.integer({ min: 8, max: 300 }),
        fc.integer({ min: 1, max: 50 }),
        (sent, fragment, step) => {
          const stream = Buffer.concat(sent.map((record) => recordOf(record, fragment)));
          const splitter = new RecordSplitter();
          const got: Buffer[] = [];
          for (let at = 0; at < stream.length; at += step) got.push(...splitter.push(stream.subarray(at, at + step)));
          expect(got.map((record) => record.toString("hex"))).toEqual(
            sent.map((record) => Buffer.from(record).toString("hex")),
          );
        },
      ),
    );
  });

  test("that are too long are refused at their header, also in fragments, and so are endless empty fragments", () => {
    expect(() => new RecordSplitter().push(header(true, RECORD_BYTES_MAX + 1))).toThrow(RangeError);
    expect(new RecordSplitter().push(header(true, RECORD_BYTES_MAX))).toEqual([]);
    const half = Buffer.concat([header(false, 200_000), Buffer.alloc(200_000)]);
    expect(() => new RecordSplitter().push(Buffer.concat([half, header(true, 200_000)]))).toThrow(RangeError);
    const empty = Buffer.concat(Array.from({ length: FRAGMENTS_MAX + 1 }, () => header(false, 0)));
    expect(() => new RecordSplitter().push(empty)).toThrow(RangeError);
  });

  test("that come in small pieces keep their bytes, and not the memory of each piece", () => {
    const splitter = new RecordSplitter();
    const stream = recordOf(Buffer.alloc(1000, "a"), 300);
    const records: Buffer[] = [];
    const piece = Buffer.alloc(1);
    for (const byte of stream) {
      piece[0] = byte;
      records.push(...splitter.push(piece));
    }
    expect(records).toEqual([Buffer.alloc(1000, "a")]);
    expect(records[0]?.buffer.byteLength).toBeLessThanOrEqual(4000);
  });
});

describe("what a client sends", () => {
  const call = nfsCall(NFS_PROC.LOOKUP, { what: { dir: { data: new Uint8Array(32) }, name: "a" } }, { xid: 7 });

  test("is a call with its user", () => {
    const parsed = parseCall(call);
    expect(parsed).toMatchObject({ xid: 7, procedure: NFS_PROC.LOOKUP, credentials: { gids: [] } });
    expect(decodeNfs(parsed?.params ?? new Uint8Array(), NFS_PROC.LOOKUP)).toMatchObject({ what: { name: "a" } });
  });

  test("is nothing when any byte is missing, or one is too many", () => {
    const { params = new Uint8Array() } = parseCall(call) ?? {};
    for (let length = 0; length < params.length; length++)
      expect(decodeNfs(params.subarray(0, length), NFS_PROC.LOOKUP)).toBeUndefined();
    expect(decodeNfs(Buffer.concat([params, Buffer.alloc(4)]), NFS_PROC.LOOKUP)).toBeUndefined();
    for (let length = 0; length < 24; length++) expect(parseCall(call.subarray(0, length))).toBeUndefined();
  });

  test("has no text that is not UTF-8, and no length beyond its end", () => {
    expect(() => strictXdr(Buffer.from([0, 0, 0, 2, 0xc3, 0x28, 0, 0])).readString()).toThrow(RangeError);
    expect(() => strictXdr(Buffer.from([0xff, 0xff, 0xff, 0xff])).readString()).toThrow(RangeError);
    expect(() => strictXdr(Buffer.from([0, 0, 0, 5, 1, 2, 3, 4])).readVarlenOpaque()).toThrow(RangeError);
    expect(strictXdr(Buffer.from([0, 0, 0, 2, 0xc3, 0xa9, 0, 0])).readString()).toBe("é");
  });

  test("may be of any program and version: that is for who answers", () => {
    expect(parseCall(callBytes(0, new Uint8Array(), { xid: 1, program: 5, version: 9 }))).toMatchObject({
      program: 5,
      version: 9,
    });
  });
});

describe("handles", () => {
  const key = Buffer.alloc(32, 1);

  test("hold a node, and are good for their drive and epoch alone", () => {
    let epoch = "one";
    const handles = new FileHandles(() => epoch, key);
    const handle = handles.seal(2 ** 53 - 1);
    expect(handles.open(handle)).toBe(2 ** 53 - 1);
    for (let at = 0; at < handle.length; at++) {
      const changed = Buffer.from(handle);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => handles.open(changed)).toThrow(expect.objectContaining({ status: STATUS.STALE }));
    }
    expect(() => new FileHandles(() => epoch).open(handle)).toThrow(expect.objectContaining({ status: STATUS.STALE }));
    expect(() => handles.open(handle.subarray(1))).toThrow(expect.objectContaining({ status: STATUS.BADHANDLE }));
    epoch = "two";
    expect(() => handles.open(handle)).toThrow(expect.objectContaining({ status: STATUS.STALE }));
    expect(handles.open(handles.seal(5))).toBe(5);
  });
});

describe("rights", () => {
  const file = { mode: 0o100_640, uid: 10, gid: 20 };
  const folder = { mode: 0o040_750, uid: 10, gid: 20 };
  const ALL = 0x3f;

  test.each([
    [10, 1, [], ACCESS.READ | ACCESS.MODIFY | ACCESS.EXTEND],
    [11, 20, [], ACCESS.READ],
    [11, 1, [2, 20], ACCESS.READ],
    [11, 1, [], 0],
    [0, 0, [], ACCESS.READ | ACCESS.MODIFY | ACCESS.EXTEND],
  ])("to a file: user %i, group %i, groups %j", (uid, gid, gids, granted) => {
    expect(accessOf(file, { uid, gid, gids }, ALL)).toBe(granted);
  });

  test.each([
    [10, 1, ACCESS.READ | ACCESS.LOOKUP | ACCESS.MODIFY | ACCESS.EXTEND | ACCESS.DELETE],
    [11, 20, ACCESS.READ | ACCESS.LOOKUP],
    [11, 1, 0],
  ])("to a folder: user %i, group %i", (uid, gid, granted) => {
    expect(accessOf(folder, { uid, gid, gids: [] }, ALL)).toBe(granted);
  });

  test("an owner goes on reading and writing what its mode forbids, others do not", () => {
    const closed = { mode: 0o100_000, uid: 10, gid: 20 };
    const owner = { uid: 10, gid: 20, gids: [] };
    const other = { uid: 11, gid: 20, gids: [] };
    expect([mayRead(closed, owner), mayWrite(closed, owner)]).toEqual([true, true]);
    expect([mayRead(closed, other), mayWrite(closed, other)]).toEqual([false, false]);
  });
});

describe("where a connection comes from", () => {
  test("is what the system's table says of exactly that pair of ports", () => {
    const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0801 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:0801 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C001 0100007F:0801 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n`;
    expect(uidIn(table, "0100007F:C001", "0100007F:0801")).toBe(1000);
    expect(uidIn(table, "0100007F:C002", "0100007F:0801")).toBeUndefined();
    const closed = `   3: 0100007F:C003 0100007F:0801 06 00000000:00000000 03:000017 00000000     0        0 0 3 0\n`;
    expect(uidIn(table + closed, "0100007F:C003", "0100007F:0801")).toBeUndefined();
  });
});

describe("what is to be run when this process has died", () => {
  const program = new URL("../../src/drive/nfs/host/after-death.ts", import.meta.url).href;

  /** Starts a process that has it make a file, and ends it; says whether the file is there a while later. */
  async function isMade(ending: "killed" | "disposed"): Promise<boolean> {
    const folder = await mkdtemp(join(tmpdir(), "runnel-guard-"));
    const file = join(folder, "made");
    const script = `const { runAfterDeath } = await import(process.argv[1]);
      const guard = runAfterDeath(["/bin/sh", "-c", 'echo made > "$1"', "sh", process.argv[2]]);
      if (process.argv[3] === "disposed") guard[Symbol.dispose]();
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 50);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, program, file, ending]);
    await new Promise((resolve) => child.once("exit", resolve));
    const until = performance.now() + (ending === "killed" ? 5000 : 300);
    while (!existsSync(file) && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    const isThere = existsSync(file);
    await rm(folder, { recursive: true });
    return isThere;
  }

  test("is run when it was killed, and not when that was called off", async () => {
    expect(await Promise.all([isMade("killed"), isMade("disposed")])).toEqual([true, false]);
  });
});

test("mount_nfs of macOS is told the version, both ports, and to send names composed", () => {
  expect(darwinMountArguments(2049, "secret", "/Users/ada/Docs", true)).toEqual([
    "-o",
    "vers=3,tcp,port=2049,mountport=2049,locallocks,noresvport,nfc,intr,rdirplus,actimeo=1,nosuid,nodev,ro",
    "127.0.0.1:/secret",
    "/Users/ada/Docs",
  ]);
});
