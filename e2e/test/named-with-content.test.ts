// Holds mode async to the order of names and contents: what others see under a name is what programs here saw with it,
// or a later content, and never a file whose content is still to come. On simulated ground, over a slow return of the
// line.
import { expect, test } from "@jest/globals";
import type { Program } from "@runnel/native/drive";
import { SeededRandom } from "@runnel/shared";
import { TwoClients, append, read, write } from "../src/consistency/two-clients.ts";

const SEEN_MS = 10_000;
const LOOK_MS = 20;
/** Part of a content that takes its time on the line, and so is passed by what does not depend on it. */
const LONG = Buffer.from(new SeededRandom(1).bytes(900_000)).toString("base64");

/** Does something without a line; `seen`: what others may see meanwhile at "file", in this order. */
const CASES: readonly [name: string, change: (program: Program) => Promise<void>, seen: string[]][] = [
  [
    "saved twice by an editor that renames",
    async (program) => {
      for (const text of ["one", LONG]) {
        await write(program, ".new", text);
        await program.rename(".new", "file");
      }
    },
    ["before", "one", "…"],
  ],
  [
    "saved so, and appended to by another program",
    async (program) => {
      await write(program, ".one", "one");
      await program.rename(".one", "file");
      await append(program, "file", " and two");
      await append(program, "file", LONG);
    },
    ["before", "one", "one and two…"],
  ],
  [
    "saved so, moved away, and saved again",
    async (program) => {
      await write(program, ".one", "one");
      await program.rename(".one", "file");
      await program.rename("file", "file.bak");
      await append(program, "file.bak", LONG);
      await write(program, "file", "two");
    },
    ["before", "one", "none", "", "two"],
  ],
  [
    "removed, and put there again by a link to what is removed then",
    async (program) => {
      await write(program, ".one", "one");
      await program.unlink("file");
      await program.link(".one", "file");
      await program.unlink(".one");
      await append(program, "file", LONG);
      await program.rename("file", "elsewhere");
      await program.unlink("elsewhere");
    },
    ["before", "none", "one", "one…", "none"],
  ],
];

test.each(CASES)("a file that is %s", async (_name, change, order) => {
  const clients = new TwoClients();
  try {
    await clients.start();
    const [mine, other] = clients.programs;
    await clients.run(write(other, "file", "before"));
    await clients.run(read(mine, "file"));
    await clients.cut();
    await clients.run(change(mine));
    clients.join();
    const seen: string[] = [];
    for (const untilMs = clients.clock.bootMs() + SEEN_MS; clients.clock.bootMs() < untilMs;) {
      const text = (await clients.run(read(other, "file").catch(() => "none"))).replace(LONG, "…");
      if (text !== seen.at(-1)) seen.push(text);
      // Ends where that comes only at the end.
      if (order.indexOf(text) === order.length - 1) break;
      await clients.clock.advance(LOOK_MS);
    }
    // Compares a part, in its order, up to its end: not every moment was looked at.
    let at = -1;
    for (const text of seen) expect((at = order.indexOf(text, at + 1))).toBeGreaterThanOrEqual(0);
    expect(seen.at(-1)).toBe(order.at(-1));
  } finally {
    clients.close();
  }
});
