// Listings, answers and the feed in any order that the wire allows: the replica converges to the model and never lies
// on the way.
import { expect, test } from "@jest/globals";
import type { Entry } from "@runnel/shared";
import { ROOT_NODE, SeededRandom } from "@runnel/shared";
import * as fc from "fast-check";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import type { Step } from "./model-tree.ts";
import { ModelHistory, WORDS, makeState } from "./model-tree.ts";

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom("file", "file", "folder", "folder", "link", "remove", "rename", "rename", "chmod"),
  pick: fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12)),
});

/** A part of the history that may come next, chosen by number among what is left. */
interface Part {
  folder: number;
  asOf: number;
  entries: Entry[];
  isLast: boolean;
}

/** Makes a listing or two of each folder that ever was, as of some seq of its life, cut into parts. */
function listings(history: ModelHistory, random: (below: number) => number): Part[][] {
  const folders = new Set(history.trees.flatMap((_, seq) => history.folders(seq)));
  const all: Part[][] = [];
  for (const folder of folders) {
    const lives = history.trees.flatMap((tree, seq) => (tree.names.has(folder) ? [seq] : []));
    for (let times = random(2); times >= 0; times--) {
      const asOf = lives[random(lives.length)] as number;
      const entries = history.listing(asOf, folder) ?? [];
      const parts: Part[] = [];
      for (const entry of entries) parts.push({ folder, asOf, entries: [entry], isLast: false });
      parts.push({ folder, asOf, entries: [], isLast: true });
      all.push(parts);
    }
  }
  return all;
}

function checkNeverLies(replica: Replica, history: ModelHistory): void {
  for (const folder of new Set(history.trees.flatMap((_, seq) => history.folders(seq)))) {
    for (const name of WORDS) {
      const known = replica.lookup(folder, name);
      if (known.is === "absent" && history.bound(known.asOf, folder, name) !== 0) {
        throw new Error(`${folder}/${name} is said absent as of ${known.asOf}`);
      }
      if (known.is === "bound") {
        const node = known.state.node;
        expect(history.trees.some((_, seq) => history.bound(seq, folder, name) === node)).toBe(true);
      }
    }
    const listed = replica.listing(folder);
    if (listed === undefined) continue;
    const names = new Map(listed.entries.map(({ name, state }) => [name, state.node]));
    for (const name of WORDS) {
      const later = history.trees.slice(listed.asOf).map((tree) => tree.names.get(folder)?.get(name) ?? 0);
      expect(later).toContain(names.get(name) ?? 0);
    }
  }
}

/** Answers from rows kept in memory are those of the tables, which listings are read from. */
function checkSaysWhatIsStored(replica: Replica, history: ModelHistory): void {
  const folders = new Set(history.trees.flatMap((_, seq) => history.folders(seq)));
  const named = new Map<number, string[]>();
  for (const folder of folders) {
    const stored = new Map(replica.entriesAfter(folder, "", 100).map(({ name, state }) => [name, state]));
    expect(replica.hasMoreNames(folder, stored.size - 1) || stored.size === 0).toBe(true);
    expect(replica.hasMoreNames(folder, 100)).toBe(false);
    for (const [name, { node }] of stored) named.set(node, [...(named.get(node) ?? []), `${folder}/${name}`]);
    for (const name of WORDS) {
      const known = replica.lookup(folder, name);
      expect(known.is === "bound" ? known.state : undefined).toEqual(stored.get(name));
    }
  }
  for (const node of new Set(history.trees.flatMap(({ states }) => [...states.keys()]))) {
    if (replica.node(node) === undefined) continue;
    const names = replica.namesOf(node).map(({ folder, name }) => `${folder}/${name}`);
    expect(names.sort()).toEqual((named.get(node) ?? []).sort());
  }
  const complete = [...folders].filter((folder) => replica.listing(folder) !== undefined);
  expect(complete).toHaveLength(replica.counts().completeFolders);
}

function checkConverged(replica: Replica, history: ModelHistory): void {
  const tree = history.tree(history.seq);
  for (const [folder, names] of tree.names) {
    const listed = replica.listing(folder);
    expect(listed?.asOf).toBe(history.seq);
    const expected = [...names].map(([name, node]) => ({ name, state: tree.states.get(node) }));
    expect(listed?.entries).toEqual(expected.sort((one, other) => (one.name < other.name ? -1 : 1)));
  }
  for (const [node, state] of tree.states) expect(replica.node(node)).toEqual(state);
  expect(replica.counts().names).toBe([...tree.names.values()].reduce((sum, names) => sum + names.size, 0));
}

test("[F57] [F58] any interleaving of listing parts, answers and feed items converges to the model and never says absent falsely", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(), (steps, seed) => {
      const history = new ModelHistory(steps);
      const source = new SeededRandom(seed);
      const random = (below: number): number => source.below(below);
      const replica = openReplica(":memory:");
      replica.reset("e", makeState(ROOT_NODE, "folder", 0));
      const queues = listings(history, random);
      let fed = 0;
      while (queues.length > 0 || fed < history.seq) {
        const choice = random(queues.length + 3);
        const queue = queues[choice];
        if (queue !== undefined) {
          const part = queue.shift();
          if (part !== undefined) replica.putListing(part.folder, part.asOf, part.entries, part.isLast);
          if (queue.length === 0) queues.splice(choice, 1);
        } else if (choice === queues.length) {
          const seq = random(history.seq + 1);
          const folder = history.folders(seq)[random(history.folders(seq).length)] as number;
          const name = WORDS[random(WORDS.length)] as string;
          replica.putState(seq, history.state(seq, history.bound(seq, folder, name)), { folder, name });
        } else {
          // Sometimes what was applied comes again.
          const from = random(4) === 0 ? random(fed + 1) : fed;
          fed = Math.min(history.seq, fed + 1 + random(3));
          replica.apply(history.changes.slice(from, fed));
        }
        checkNeverLies(replica, history);
        checkSaysWhatIsStored(replica, history);
      }
      checkConverged(replica, history);
      replica.close();
    }),
    {
      numRuns: 300,
      // A late answer about a folder that is gone.
      examples: [
        [
          [
            { what: "folder", pick: [0, 5, 0] },
            { what: "file", pick: [3, 2, 0] },
            { what: "rename", pick: [3, 2, 0] },
            { what: "file", pick: [0, 0, 0] },
            { what: "remove", pick: [0, 5, 0] },
          ],
          21,
        ],
      ],
    },
  );
});
