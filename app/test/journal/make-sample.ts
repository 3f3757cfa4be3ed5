// Makes the sample of the current format: the segment of a journal. Run once for each format that is released:
// node app/test/journal/make-sample.ts <file>
import { writeFileSync } from "node:fs";
import { JournalMachine, dataOf, makeCommit } from "./journal-machine.ts";

const machine = new JournalMachine();
const journal = await machine.open();
for (let count = 0; count < 3; count++) {
  const n = journal.nextNumber();
  await machine.writeData(`overlay-${n}`, dataOf(n));
  await journal.put(makeCommit(journal.instance, n), count === 0);
}
await journal.done(journal.instance, 1);
await journal.close();
const segment = await machine.root.open("journal/log/0000000001.log", "read");
writeFileSync(process.argv[2] ?? "journal.segment", await segment.read(0, (await segment.stat()).sizeBytes));
