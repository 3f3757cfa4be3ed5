// Files that are made here: every state with every event, and what a folder shows of them meanwhile.
import { describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { type MakeEvent, type MakeState, Makes, NEXT_MAKE_STATES } from "../../src/agent/drive/makes.ts";
import { makeState } from "../replica/model-tree.ts";

const FOLDER = 3;
const NODE = 5;
const THERE = 9;
const REFUSAL = new RunnelError("Denied", "make", "The server refuses.");
const EVENTS: MakeEvent[] = [
  { is: "answer" },
  { is: "exist", node: THERE },
  { is: "refuse", error: REFUSAL },
  { is: "fail" },
];
const WAYS: Record<MakeState, MakeEvent[]> = {
  sent: [],
  committed: [{ is: "answer" }],
  bound: [{ is: "exist", node: THERE }],
  refused: [{ is: "refuse", error: REFUSAL }],
  unconfirmed: [{ is: "fail" }],
};
const STATES = Object.keys(NEXT_MAKE_STATES) as MakeState[];

function add(makes: Makes, node = NODE, name = "a", mtimeNs = 7n): void {
  const making = { n: node, settled: Promise.resolve() };
  makes.add({ folder: FOLDER, name, state: { ...makeState(node, "file", 0), mtimeNs }, making });
}

describe("a make", () => {
  test.each(STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const)))(
    "that is %s: %j",
    (state, event) => {
      const makes = new Makes();
      add(makes);
      for (const step of WAYS[state]) expect(makes.step(NODE, step)).toBe(state);
      const next = NEXT_MAKE_STATES[state][event.is];
      if (next === undefined) {
        expect(() => makes.step(NODE, event)).toThrow(TypeError);
        return;
      }
      expect(makes.step(NODE, event)).toBe(next);
      expect(makes.real(NODE)).toBe(next === "bound" ? THERE : NODE);
      expect(makes.refusalOf(NODE)).toBe(next === "refused" ? REFUSAL : undefined);
      expect([makes.get(NODE), makes.named(FOLDER, "a"), ...makes.in(FOLDER)]).toEqual([undefined, undefined]);
      expect(makes.touchedNs(FOLDER)).toBeUndefined();
    },
  );

  test("is answered once: nothing follows what the server has said", () => {
    expect(STATES.filter((state) => Object.keys(NEXT_MAKE_STATES[state]).length > 0)).toEqual(["sent"]);
    expect(Object.keys(NEXT_MAKE_STATES.sent)).toEqual(EVENTS.map(({ is }) => is));
  });

  test("shows in its folder, under its name, until it is answered", () => {
    const makes = new Makes();
    add(makes);
    add(makes, NODE + 1, "b", 8n);
    expect([...makes.in(FOLDER)].map(({ name }) => name)).toEqual(["a", "b"]);
    expect([...makes.in(FOLDER + 1)]).toEqual([]);
    expect(makes.touchedNs(FOLDER)).toBe(8n);
    makes.step(NODE + 1, { is: "answer" });
    expect([...makes.in(FOLDER)].map(({ name }) => name)).toEqual(["a"]);
    expect(makes.touchedNs(FOLDER)).toBe(8n);
  });

  test("gives its name to a later one, which keeps it when the first is answered", () => {
    const makes = new Makes();
    add(makes);
    add(makes, NODE + 1);
    expect([...makes.in(FOLDER)].map(({ state }) => state.node)).toEqual([NODE + 1]);
    makes.step(NODE, { is: "fail" });
    expect(makes.named(FOLDER, "a")?.state.node).toBe(NODE + 1);
  });

  test("that was refused is remembered as long as a thousand others have not been", () => {
    const makes = new Makes();
    for (let node = NODE; node <= NODE + 1000; node++) {
      add(makes, node, `${node}`);
      makes.step(node, { is: "refuse", error: REFUSAL });
    }
    expect(makes.refusalOf(NODE)).toBeUndefined();
    expect(makes.refusalOf(NODE + 1)).toBe(REFUSAL);
  });
});
