// Makes the sample of the current format. Run once for each format that is released: node app/test/view/make-sample.ts
// <file>
import { openHistoryStore } from "../../src/agent/view/history-store.ts";

const store = openHistoryStore(process.argv[2] ?? ":memory:");
const docs = { url: "ws://h/docs", mountpoint: "/mnt/docs" };
const before = { read: 2 ** 50, written: 2, sent: 3, received: 4, oldVersion: 5, otherFile: 6, compression: -7 };
const counts = { ...before, colleague: 8, stick: 9, oldFolder: 10 };
store.ledger.add(docs, 1_700_000_000_000, [{ folder: "Photos", counts }]);
const times = { turn: 9, fromMs: 1_700_000_000_000, toMs: 1_700_000_000_001 };
const named = { kind: "saved" as const, folder: "Photos", name: "ä.jpg", count: 87, bytes: 2 ** 40, detail: "" };
store.putActivity({ put: [{ id: 4, ...times, ...docs, ...named }], dropped: [] });
store.close();
