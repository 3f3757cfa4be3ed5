// Folders above nodes, as write leases ask for them: by all names, remembered until a folder is moved.
import { beforeEach, expect, test } from "@jest/globals";
import { type Change, ROOT_NODE } from "@runnel/shared";
import { Ancestors, movesFolder } from "../../src/feed/ancestors.ts";
import { changeOf } from "./followers.ts";

const [ABOVE, FOLDER, OTHER, FILE] = [10, 11, 20, 100];

let places: Map<number, readonly number[]>;
let asked: number[];
let ancestors: Ancestors;

beforeEach(() => {
  asked = [];
  places = new Map([
    [ABOVE, [ROOT_NODE]],
    [FOLDER, [ABOVE]],
    [OTHER, [ROOT_NODE]],
    [FILE, [FOLDER, OTHER]],
  ]);
  ancestors = new Ancestors(async (node) => {
    asked.push(node);
    return places.get(node) ?? [];
  });
});

/** A change by which a folder has another place. */
function moved(seq: number, folder: number, to: number): Change {
  const state = changeOf(seq, folder).nodes[1];
  if (state === undefined) throw new Error("There is no folder.");
  const bindings = [
    { folder: ROOT_NODE, name: "a", node: 0 },
    { folder: to, name: "a", node: folder },
  ];
  return { seq, bindings, nodes: [{ ...state, node: folder }], replaces: undefined };
}

test("are those above all names of a file, and each folder is asked for once", async () => {
  expect([...(await ancestors.of([FILE]))].toSorted()).toEqual([FILE, FOLDER, OTHER, ABOVE, ROOT_NODE].toSorted());
  expect(await ancestors.path(FOLDER)).toEqual([ROOT_NODE, ABOVE, FOLDER]);
  expect(await ancestors.of([FOLDER])).toEqual(new Set([FOLDER, ABOVE, ROOT_NODE]));
  expect(asked.toSorted()).toEqual([FILE, FOLDER, OTHER, ABOVE].toSorted());
});

test("are asked for again once a folder was moved, and counted as moved", async () => {
  await ancestors.of([FILE]);
  places.set(FOLDER, [OTHER]);
  ancestors.changed([changeOf(1, FOLDER)]);
  expect([ancestors.moves, await ancestors.path(FOLDER)]).toEqual([0, [ROOT_NODE, ABOVE, FOLDER]]);
  ancestors.changed([moved(2, FOLDER, OTHER)]);
  expect([ancestors.moves, await ancestors.path(FOLDER)]).toEqual([1, [ROOT_NODE, OTHER, FOLDER]]);
});

test("are not remembered as they were read while a folder was moved", async () => {
  const reading = ancestors.of([FILE]);
  ancestors.changed([moved(1, FOLDER, OTHER)]);
  await reading;
  places.set(FOLDER, [OTHER]);
  ancestors.changed([moved(2, FOLDER, OTHER)]);
  expect((await ancestors.of([FOLDER])).has(ABOVE)).toBe(false);
});

test("are unknown of what has no place, and what is made is not moved", async () => {
  expect(await ancestors.path(999)).toBeUndefined();
  expect(await ancestors.of([999])).toEqual(new Set([999]));
  expect([movesFolder(changeOf(1, FOLDER)), movesFolder(moved(1, FOLDER, OTHER))]).toEqual([false, true]);
});
