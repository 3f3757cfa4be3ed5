// Writes samples/format-<n>/: a small store of the current format, to be kept for ever.
// `node server/test/meta/sqlite/make-sample.ts`, once per format.
import { existsSync, mkdirSync } from "node:fs";
import { META_FORMAT } from "../../../src/meta/first-rows.ts";
import { openSqliteMetaStore } from "../../../src/meta/sqlite/meta-store.ts";
import { EPOCH, FILE, Harness, ROOT, digestOf } from "../meta-harness.ts";

const folder = new URL(`samples/format-${META_FORMAT}/`, import.meta.url).pathname;
if (existsSync(folder)) throw new Error("A released sample is never written again.");
mkdirSync(folder, { recursive: true });
const h = new Harness(await openSqliteMetaStore(folder, { create: { epoch: EPOCH } }));
const docs = await h.folder(ROOT, "docs");
const report = await h.make(docs, "report.txt");
await h.run(h.write(report, 0, "one"));
await h.run(h.write(report, 3, "three"));
const gone = await h.make(ROOT, "gone");
await h.run(h.remove(ROOT, "gone", gone));
await h.make(ROOT, "link", { ...FILE, type: "symlink", target: "docs/report.txt" });
await h.external(ROOT, "seen");
await h.store.setAttached("here", 20_000);
await h.store.putChunks({ node: report, seq: 4 }, { lengths: Uint32Array.of(5), digests: digestOf("three") });
await h.store.close();
