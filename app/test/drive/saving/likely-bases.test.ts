// Chooses the files that a new one is compared with.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { NodeState } from "@runnel/shared";
import { EMPTY_RECIPE, ROOT_NODE } from "@runnel/shared";
import type { CachedContent } from "../../../src/agent/cache/cache.ts";
import { LikelyBases } from "../../../src/agent/drive/saving/likely-bases.ts";
import { makeState } from "../../replica/model-tree.ts";

const SIZE = 10_000;
const NEW = 100;

let files: Map<string, NodeState>;
let uncached: Set<number>;
let bases: LikelyBases;

beforeEach(() => {
  files = new Map();
  uncached = new Set();
  const cached = (state: NodeState): CachedContent => ({
    id: state.node,
    version: { node: state.node, seq: 1 },
    sizeBytes: state.sizeBytes,
    path: "",
    recipe: uncached.has(state.node) ? undefined : EMPTY_RECIPE,
    oid: undefined,
  });
  const removed = { ...makeState(50, "file", 1), sizeBytes: SIZE };
  bases = new LikelyBases({
    tree: {
      placeOf: (node) => {
        const name = [...files].find(([, state]) => state.node === node)?.[0];
        return name === undefined ? undefined : { folder: ROOT_NODE, name };
      },
      boundTo: (_folder, name) => files.get(name),
    },
    replica: {
      filesOfSize: (_folder, { least, most, like }) =>
        [...files.values()]
          .filter(({ sizeBytes }) => sizeBytes >= least && sizeBytes <= most)
          .toSorted((one, other) => Math.abs(one.sizeBytes - like) - Math.abs(other.sizeBytes - like))
          .map(({ node }) => node),
    },
    cache: {
      versionsOf: (node) => [...files.values(), removed].filter((state) => state.node === node).map(cached),
    },
  });
});

function file(name: string, node: number, sizeBytes = SIZE): void {
  files.set(name, { ...makeState(node, "file", 1), sizeBytes });
}

function guesses(name: string, readBefore = 0, sizeBytes = SIZE): number[] {
  for (const [other, { node }] of files) if (node === NEW) files.delete(other);
  file(name, NEW, sizeBytes);
  return bases.of({ node: NEW, sizeBytes, readBefore }).map(({ version }) => version.node);
}

describe("a new file may resemble", () => {
  test("the one that its name says it is to replace", () => {
    file("main.c", 7);
    expect(guesses("main.c.tmp")).toEqual([7]);
  });

  test("the one that had its name, before that was removed or renamed, first", () => {
    file("main.c~", 7);
    bases.leaves(ROOT_NODE, "main.c", 7);
    file("other", 8);
    expect(guesses("main.c", 8)).toEqual([7, 8]);
    bases.leaves(ROOT_NODE, "main.c", 50);
    expect(guesses("main.c")).toEqual([50]);
  });

  test("the one that had the name which it is to have", () => {
    bases.leaves(ROOT_NODE, "main.c", 50);
    expect(guesses("main.c.tmp")).toEqual([50]);
  });

  test("the one that its program read last", () => {
    file("elsewhere", 7);
    expect(guesses("anything", 7)).toEqual([7]);
  });

  test("where its name says only that it will not stay, those of about its size, the nearest first", () => {
    file("a", 7, SIZE + 500);
    file("b", 8, SIZE - 100);
    file("c", 9, 2 * SIZE);
    expect(guesses("sedAb12Cd")).toEqual([8, 7]);
    expect(guesses("new.c")).toEqual([]);
  });

  test("none of quite another size, none whose chunks are not known here, itself, or any if it is small", () => {
    file("main.c", 7, 5 * SIZE);
    expect(guesses("main.c.tmp")).toEqual([]);
    file("main.c", 7);
    uncached.add(7);
    expect(guesses("main.c.tmp")).toEqual([]);
    expect(guesses("main.c.tmp", NEW)).toEqual([]);
    uncached.clear();
    file("main.c", 7, 100);
    expect(guesses("main.c.tmp", 0, 100)).toEqual([]);
  });

  test("three at most, of names that the last thousand files had", () => {
    for (let node = 1; node <= 6; node++) file(`f${node}`, node);
    expect(guesses("sedAb12Cd")).toHaveLength(3);
    bases.leaves(ROOT_NODE, "main.c", 50);
    for (let count = 0; count < 1000; count++) bases.leaves(ROOT_NODE, `old-${count}`, 1);
    expect(guesses("main.c")).toEqual([]);
  });
});
