// Commits batches of 8 new files for ever and prints the seq after each. Started, and killed, by sqlite-files.test.ts.
import { openSqliteMetaStore } from "../../../src/meta/sqlite/meta-store.ts";
import { EPOCH, FILE, Harness, ROOT } from "../meta-harness.ts";

const h = new Harness(await openSqliteMetaStore(process.argv[2] ?? "", { create: { epoch: EPOCH } }));
for (let batch = 0; ; batch++) {
  const requests = [];
  for (let index = 0; index < 8; index++) {
    const node = await h.newNode();
    requests.push(h.request({ op: "make", folder: ROOT, name: `${batch} ${index}`, node, attributes: FILE }));
  }
  await h.batch(requests);
  await h.store.forgetResults("here", (batch + 1) * 8, []);
  process.stdout.write(`${(batch + 1) * 8}\n`);
}
