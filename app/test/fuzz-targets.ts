// Feeds the agent what comes from outside: lines of its control socket, at either end, records of its journal, and the
// folder's own files.
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { CallClient, CallServer, isRunnelError, LineCarrier, SimulatedClock } from "@runnel/shared";
import { type FuzzTarget, type Targets, requireThat } from "@runnel/shared/test/fuzz/target.ts";
import { askedColleagues, incomingColleagues } from "./colleagues/fuzz-colleagues.ts";
import { CONTROL_LIMITS, CONTROL_VERSION } from "../src/agent/control/protocol.ts";
import { type JournalRecord, decodeJournalRecord, encodeJournalRecord } from "../src/agent/journal/records.ts";
import { MimeBodies } from "../src/mail/mime-bodies.ts";
import { formatReference, parseFramed, restOf } from "../src/mail/reference.ts";
import { AGENT_VERBS } from "../src/verbs/index.ts";

const HELLO = { protocol: CONTROL_VERSION, version: "0.1.0", features: ["views"] };

/** Reads what comes on the socket, in pieces: the first byte says how long they are. */
function control(): FuzzTarget {
  const lines = [
    { hello: HELLO },
    {
      id: 1,
      request: { verb: "mount", url: "ws://127.0.0.1:7473/docs", mountpoint: "/mnt", mode: "sync", mapOwner: true },
    },
    { id: 2, request: { verb: "find", target: "/mnt", words: ["-name", "*.txt"] } },
    { id: 3, request: { verb: "status", asksServer: true } },
    { id: 4, request: { verb: "watch", intervalMs: 500 } },
    { id: 5, request: { verb: "login", invite: "runnel://a:1/docs#s", name: "laptop" } },
    ...Object.keys(AGENT_VERBS).map((verb, index) => ({
      id: 6 + index,
      request: { verb, force: true, mountpoint: "/mnt" },
    })),
    { cancel: 4 },
    { id: 1, part: [1, "two"] },
    { id: 1, result: { ok: true } },
    { id: 2, error: { kind: "Denied", operation: "mount", message: "No.", detail: { limit: 5 } } },
  ];
  const texts = lines.map((line) => `${JSON.stringify(line)}\n`);
  return {
    structure: "bytes",
    seeds: [texts.join(""), ...texts].map((text) => Buffer.concat([Uint8Array.of(30), Buffer.from(text)])),
    run: async (input) => {
      const problems: unknown[] = [];
      const [agent, face] = [new FakeSocket(), new FakeSocket()];
      startServer(agent, (problem) => problems.push(problem));
      const asked = askFrom(face);
      const step = 1 + (input[0] ?? 0);
      for (let at = 1; at < input.length; at += step)
        for (const socket of [agent, face]) socket.emit("data", input.subarray(at, at + step));
      for (const socket of [agent, face]) socket.emit("close");
      await asked;
      requireThat(
        problems.every((problem) => isRunnelError(problem)),
        "what a face sends is refused, and no fault of the agent",
      );
    },
  };
}

class FakeSocket extends EventEmitter {
  readonly writable = true;
  write(): boolean {
    return true;
  }
  destroySoon(): void {}
}

function startServer(socket: FakeSocket, problem: (error: unknown) => void): void {
  const carrier = new LineCarrier(socket as unknown as Socket, CONTROL_LIMITS.requestLineBytes);
  const limits = { helloMs: CONTROL_LIMITS.helloMs, requestsMax: CONTROL_LIMITS.requests };
  const handle = async (): Promise<unknown> => ({});
  const server = { hello: HELLO, clock: new SimulatedClock(), table: AGENT_VERBS, handle, problem, ...limits };
  void new CallServer(carrier, server);
}

async function askFrom(socket: FakeSocket): Promise<void> {
  const carrier = new LineCarrier(socket as unknown as Socket, CONTROL_LIMITS.answerLineBytes);
  const sentences = { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." };
  const clock = new SimulatedClock();
  const settings = { hello: HELLO, clock, deadlineMs: 1000, operation: "ask", sentences };
  const opened = await CallClient.open(carrier, AGENT_VERBS, settings);
  const asked = [opened?.client.ask("status", {}), opened?.client.ask("find", { target: "/mnt", words: [] })];
  for (const ask of await Promise.allSettled(asked))
    if (ask.status === "rejected")
      requireThat(isRunnelError(ask.reason), "an answer is understood, or fails the request");
}

const INSTANCE = "ab".repeat(16);
const RECORDS: JournalRecord[] = [
  { kind: "numbers", instance: INSTANCE, below: 4096 },
  { kind: "nodes", epoch: "e".repeat(32), from: 4096, end: 2 ** 20 },
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
      requireThat(Buffer.compare(again, encodeJournalRecord(record)) === 0, "a record comes back the same");
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

/** Reads how the content of a mail from another relay is framed. */
function mailReferences(): FuzzTarget {
  const oid = "0123456789abcdef".repeat(4);
  const decoded = { offset: 3, length: 8, base64Line: 76, oid, sizeBytes: 6 };
  const parts = [decoded, { offset: 20, length: 30, base64Line: undefined, oid, sizeBytes: 30 }];
  const seeds = [
    formatReference({ sizeBytes: 60, digest: oid, parts }),
    formatReference({ sizeBytes: 8, digest: oid, parts: [{ ...decoded, offset: 0 }] }),
    Buffer.from("runnel-mail/1 whole\r\nSubject: x\r\n"),
  ];
  return {
    structure: "bytes",
    seeds,
    run: (input) => {
      const { reference, restOffset, restBytes } = parseFramed(input);
      requireThat(restOffset > 0 && restOffset <= input.length, "a frame ends within its content");
      if (reference === undefined) return;
      requireThat(restBytes === restOf(reference) && restBytes >= 0, "parts and rest are the mail");
      const again = parseFramed(formatReference(reference)).reference;
      requireThat(JSON.stringify(again) === JSON.stringify(reference), "a reference comes back the same");
    },
  };
}

/** Finds the bodies of a mail, in pieces: the first byte says how long they are. */
function mailBodies(): FuzzTarget {
  const part = "--b\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n";
  const mail = `Content-Type: multipart/mixed;\r\n boundary="b"\r\n\r\n${part}${part}--b--\r\n`;
  return {
    structure: "bytes",
    seeds: [mail, "Subject: x\r\n\r\ny\r\n"].map((text) => Buffer.concat([Uint8Array.of(7), Buffer.from(text)])),
    run: (input) => {
      const scanner = new MimeBodies(1);
      const step = 1 + (input[0] ?? 0);
      for (let at = 1; at < input.length; at += step) scanner.take(input.subarray(at, at + step));
      let end = 0;
      for (const body of scanner.end()) {
        requireThat(body.begin >= end && body.end > body.begin, "bodies stand in their order and have bytes");
        end = body.end;
      }
      requireThat(end <= Math.max(0, input.length - 1), "bodies end within the mail");
    },
  };
}

export const targets: Targets = {
  control,
  journal,
  "mail references": mailReferences,
  "mail bodies": mailBodies,
  "incoming colleagues": incomingColleagues,
  "asked colleagues": askedColleagues,
};
