// Targets in the agent: lines of its control socket, from either side, records of its journal, and the folder's own
// files.
import { type FuzzTarget, type Targets, must } from "@runnel/shared/test/fuzz/target.ts";
import { AgentMessage, CONTROL_LIMITS, FaceMessage, RESULTS, parseLine } from "../src/agent/control/messages.ts";
import { LineSplitter } from "../src/agent/control/line-splitter.ts";
import { type JournalRecord, decodeJournalRecord, encodeJournalRecord } from "../src/agent/journal/records.ts";

/** Reads what comes on the socket, in pieces: the first byte says how long they are. */
function control(): FuzzTarget {
  const lines = [
    { hello: { control: 1, version: "0.1.0" } },
    {
      id: 1,
      request: { verb: "mount", url: "ws://127.0.0.1:7473/docs", mountpoint: "/mnt", mode: "sync", mapOwner: true },
    },
    { id: 2, request: { verb: "find", target: "/mnt", words: ["-name", "*.txt"] } },
    { id: 3, request: { verb: "status", asksServer: true } },
    { id: 4, request: { verb: "watch", intervalMs: 500 } },
    { id: 5, request: { verb: "login", invite: "runnel://a:1/docs#s", name: "laptop" } },
    { cancel: 4 },
    { id: 6, error: { kind: "Denied", operation: "mount", message: "No.", detail: { limit: 5 } } },
    { id: 7, result: { ok: true } },
    { id: 8, part: [1, "two"] },
  ];
  const texts = lines.map((line) => `${JSON.stringify(line)}\n`);
  return {
    structure: "bytes",
    seeds: [texts.join(""), ...texts].map((text) => Buffer.concat([Uint8Array.of(30), Buffer.from(text)])),
    run: (input) => {
      const splitter = new LineSplitter(CONTROL_LIMITS.requestLineBytes);
      const step = 1 + (input[0] ?? 0);
      for (let at = 1; at < input.length; at += step) {
        for (const line of splitter.push(input.subarray(at, at + step))) {
          must(!line.includes("\n"), "a line is one line");
          taken(() => parseLine(FaceMessage, line, "hear a face"));
          taken(() => parseLine(AgentMessage, line, "hear the agent"));
          for (const schema of Object.values(RESULTS)) schema.safeParse(line);
        }
      }
    },
  };
}

/** A line that is refused ends a connection; here the next is looked at, too. */
function taken(parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    if ((error as { kind?: unknown }).kind !== "Invalid") throw error;
  }
}

const INSTANCE = "ab".repeat(16);
const RECORDS: JournalRecord[] = [
  { kind: "numbers", instance: INSTANCE, below: 4096 },
  { kind: "done", instance: INSTANCE, n: 7 },
  { kind: "onDisk", ids: [{ instance: INSTANCE, n: 7, digest: new Uint8Array(32).fill(5) }] },
  {
    kind: "commit",
    unsyncedIn: "boot",
    digest: new Uint8Array(32).fill(6),
    commit: {
      n: 7,
      instance: INSTANCE,
      epoch: "e".repeat(32),
      node: 12,
      path: "a/b",
      baseVersion: 5,
      baseOid: new Uint8Array(32),
      baseBytes: 100,
      sizeBytes: 300,
      mtimeNs: 1_700_000_000_000_000_000n,
      ctimeNs: 1_700_000_000_000_000_001n,
      layers: [
        { file: "layer-1", extents: [{ offset: 0, length: 50 }] },
        {
          file: "layer-2",
          extents: [
            { offset: 60, length: 5 },
            { offset: 90, length: 2 ** 33 },
          ],
        },
      ],
      baseContent: 3,
    },
  },
];

function journal(): FuzzTarget {
  return {
    structure: "cbor",
    headBytes: 4,
    seeds: RECORDS.map(encodeJournalRecord),
    run: (input) => {
      const record = decodeJournalRecord(withLength(input));
      const again = encodeJournalRecord(decodeJournalRecord(encodeJournalRecord(record)));
      must(Buffer.compare(again, encodeJournalRecord(record)) === 0, "a record comes back the same");
    },
  };
}

/** A length before the header that is longer than the record is its end. */
function withLength(input: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(input);
  if (bytes.length < 4) return bytes;
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.min(view.getUint32(0, true), bytes.length - 4), true);
  return bytes;
}

export const targets: Targets = { control, journal };
