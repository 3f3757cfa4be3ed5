// Gives test files what they take from @jest/globals, without jest: tests are gathered here and run by run.ts, one
// after the other. For systems where only a bundle of plain JavaScript runs.
import { expect } from "expect";

export { expect };

type Body = () => unknown;

export interface GatheredTest {
  title: string;
  isSkipped: boolean;
  /** Outermost first; then the test; then `after`, innermost first. */
  before: Body[];
  body: Body;
  after: Body[];
}

interface Block {
  titles: string[];
  isSkipped: boolean;
  before: Body[];
  after: Body[];
}

interface Gathered {
  tests: GatheredTest[];
  blocks: Block[];
}

// Each bundle has a copy of this file; what they gather is one.
const KEY = Symbol.for("runnel plain tests");
const shared = globalThis as unknown as Record<symbol, Gathered | undefined>;
const gathered: Gathered = (shared[KEY] ??= {
  tests: [],
  blocks: [{ titles: [], isSkipped: false, before: [], after: [] }],
});

const current = (): Block => gathered.blocks.at(-1) as Block;

function addBlock(title: string, body: Body, isSkipped: boolean): void {
  const outer = current();
  gathered.blocks.push({
    titles: [...outer.titles, title],
    isSkipped: outer.isSkipped || isSkipped,
    before: [...outer.before],
    after: [...outer.after],
  });
  body();
  gathered.blocks.pop();
}

function addTest(title: string, body: Body, isSkipped: boolean): void {
  const block = current();
  gathered.tests.push({
    title: [...block.titles, title].join(" › "),
    isSkipped: block.isSkipped || isSkipped,
    before: block.before,
    body,
    after: block.after,
  });
}

type Add = (title: string, body: Body, isSkipped: boolean) => void;

/** Each row is one argument or a list of them; a %s in the title is the next of them. */
const eachOf =
  (add: Add) =>
  (rows: readonly unknown[]): ((title: string, body: (...row: never[]) => unknown) => void) =>
  (title, body) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      let shown = 0;
      add(
        title.replaceAll("%s", () => String(values[shown++])),
        () => body(...(values as never[])),
        false,
      );
    }
  };

export const describe = Object.assign((title: string, body: Body) => addBlock(title, body, false), {
  skip: (title: string, body: Body) => addBlock(title, body, true),
  each: eachOf(addBlock),
});

export const test = Object.assign((title: string, body: Body) => addTest(title, body, false), {
  skip: (title: string, body: Body) => addTest(title, body, true),
  each: eachOf(addTest),
});

export function beforeEach(body: Body): void {
  current().before.push(body);
}

export function afterEach(body: Body): void {
  current().after.unshift(body);
}

export function gatheredTests(): readonly GatheredTest[] {
  return gathered.tests;
}
