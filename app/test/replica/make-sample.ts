// Makes the sample of the current format. Run once for each format that is released: node
// app/test/replica/make-sample.ts <file>
import { ROOT_NODE } from "@runnel/shared";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { makeState } from "./model-tree.ts";

const replica = openReplica(process.argv[2] ?? ":memory:");
replica.reset("epoch", makeState(ROOT_NODE, "folder", 0));
const link = { ...makeState(2 ** 52, "symlink", 2 ** 40), target: "../ä", version: 2 ** 40, uid: 2 ** 32 - 1 };
const entries = [
  { name: "link", state: link },
  { name: "folder", state: makeState(2, "folder", 3) },
];
replica.putListing(ROOT_NODE, 5, entries, true);
replica.putState(8, undefined, { folder: 2, name: "gone" });
replica.advance(9);
replica.setWhole(true);
replica.close();
