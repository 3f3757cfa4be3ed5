import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { isRunnelError } from "@runnel/shared";
import type { Change } from "@runnel/shared";
import { decodeRecord, encodeRecord } from "../../src/commit-log/record.ts";
import type { CommitRecord } from "../../src/commit-log/record.ts";

const CHANGE: Change = {
  seq: 7,
  bindings: [{ folder: 1, name: "a", node: 5 }],
  nodes: [
    {
      node: 5,
      type: "file",
      mode: 0o644,
      uid: 1000,
      gid: 1000,
      sizeBytes: 3,
      mtimeNs: 1_700_000_000_000_000_001n,
      ctimeNs: 1_700_000_000_000_000_002n,
      nlink: 1,
      rdev: 0,
      target: "",
      version: 7,
      seq: 7,
    },
  ],
  replaces: undefined,
};
const WRITE: CommitRecord = {
  kind: "commit",
  seq: 7,
  wallNs: 1_700_000_000_000_000_002n,
  id: { instance: "00".repeat(16), n: 4, digest: new Uint8Array(32).fill(9) },
  operation: {
    op: "write",
    node: 5,
    base: 6,
    content: {
      recipe: { lengths: new Uint32Array([3]), digests: new Uint8Array(32).fill(1) },
      sizeBytes: 3,
      runs: [{ from: "log", at: 0, length: 3 }],
      temp: "",
    },
    attributes: { mtimeNs: 1_700_000_000_000_000_001n },
  },
  change: CHANGE,
  result: { node: 5, seq: 7, version: 7, conflict: false },
  paths: {
    path: "a",
    from: "",
    sources: [{ node: 4, path: "b/c" }],
    names: ["z"],
    files: [{ node: 5, handle: new Uint8Array([5, 6]) }],
  },
};
const DATA = new Uint8Array([1, 2, 3]);

describe("records of the commit log", () => {
  test("[F167] those that wait are noted", () => {
    const record = { kind: "wait", seq: 3, seqs: [3, 4, 9] } as const;
    expect(decodeRecord(encodeRecord(record, new Uint8Array(0)).bytes).record).toEqual(record);
  });

  test("[F60] header length, header and data stand one after another; data is found at dataOffset", () => {
    const { bytes, dataOffset } = encodeRecord(WRITE, DATA);
    expect(new DataView(bytes.buffer).getUint32(0, true)).toBe(dataOffset - 4);
    expect([...bytes.subarray(dataOffset)]).toEqual([1, 2, 3]);
    expect(decodeRecord(bytes).dataOffset).toBe(dataOffset);
  });

  test("[F61] a commit comes back as it was written, times and recipe included", () => {
    const { record } = decodeRecord(encodeRecord(WRITE, DATA).bytes);
    const commit = record as CommitRecord;
    expect(commit).toMatchObject({
      seq: 7,
      wallNs: WRITE.wallNs,
      result: WRITE.result,
      id: { instance: WRITE.id?.instance, n: 4 },
    });
    expect(commit.change?.nodes[0]?.mtimeNs).toBe(1_700_000_000_000_000_001n);
    const { operation } = commit;
    if (operation.op !== "write") throw new Error("not a write");
    expect([...(operation.content.recipe?.lengths ?? [])]).toEqual([3]);
    expect(operation.content.recipe?.digests).toEqual(new Uint8Array(32).fill(1));
  });

  test("[F71] a step of a batch comes back, and is called `isPart` on disk", () => {
    const step: CommitRecord = { ...WRITE, id: { instance: "00".repeat(16), n: 4, digest: DATA, isStep: true } };
    const { bytes } = encodeRecord({ kind: "together", seq: 7, commits: [step, WRITE] }, new Uint8Array(0));
    expect(Buffer.from(bytes).includes("isPart")).toBe(true);
    expect(decodeRecord(bytes).record).toMatchObject({ commits: [{ id: { n: 4, isStep: true } }, { id: { n: 4 } }] });
  });

  test("[F62] a handle record comes back with its seq and bytes", () => {
    const { record } = decodeRecord(encodeRecord({ kind: "handle", seq: 9, handle: DATA }, new Uint8Array(0)).bytes);
    expect(record).toMatchObject({ kind: "handle", seq: 9 });
    expect([...(record as { handle: Uint8Array }).handle]).toEqual([1, 2, 3]);
  });

  test.each([
    ["too short", new Uint8Array([1, 0])],
    ["a header longer than the payload", new Uint8Array([200, 0, 0, 0, 1])],
    ["a header that is no CBOR", new Uint8Array([1, 0, 0, 0, 0xff])],
    ["a header of another kind", new Uint8Array([1, 0, 0, 0, 0xa0])],
  ])("[F60] %s is damage, named", (_what, payload) => {
    let thrown: unknown;
    try {
      decodeRecord(payload);
    } catch (error) {
      thrown = error;
    }
    expect(isRunnelError(thrown, "Corrupt", "Invalid")).toBe(true);
  });
});

describe("a record of format 1, as it was released", () => {
  const sample = readFileSync(new URL("samples/commit-record-1.bin", import.meta.url));

  test("[F61] is read", () => {
    const { record, dataOffset } = decodeRecord(sample);
    expect(record).toMatchObject({
      kind: "commit",
      seq: 7,
      wallNs: WRITE.wallNs,
      result: WRITE.result,
      change: { seq: 7 },
      paths: { path: "a", names: ["z"], files: [{ node: 5 }] },
    });
    expect([...sample.subarray(dataOffset)]).toEqual([...DATA]);
  });
});
