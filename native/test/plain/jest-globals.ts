// Gives test files what they take from @jest/globals, without jest: tests are gathered here and run by run.ts, one
// after the other. For systems where only a bundle of plain JavaScript runs.
import { expect } from "expect";
import { format } from "node:util";

export { expect };

type Body = () => unknown;

/** A `describe`, or the file as a whole. */
export interface Block {
  beforeAll: Body[];
  before: Body[];
  after: Body[];
  afterAll: Body[];
}

export interface GatheredTest {
  title: string;
  isSkipped: boolean;
  /** Outermost first. */
  blocks: readonly Block[];
  body: Body;
  deadlineMs: number;
}

interface Opened {
  titles: string[];
  isSkipped: boolean;
  blocks: readonly Block[];
}

interface Gathered {
  deadlineMs: number;
  tests: GatheredTest[];
  opened: Opened[];
}

/** Longer than that of jest.config.js: Wine is slower. */
const DEADLINE_MS = 120_000;

const newBlock = (): Block => ({ beforeAll: [], before: [], after: [], afterAll: [] });

// The runner and what it runs have a copy of this file each; what they gather is one.
const KEY = Symbol.for("runnel plain tests");
const shared = globalThis as unknown as Record<symbol, Gathered | undefined>;
const gathered: Gathered = (shared[KEY] ??= {
  deadlineMs: DEADLINE_MS,
  tests: [],
  opened: [{ titles: [], isSkipped: false, blocks: [newBlock()] }],
});

const current = (): Opened => gathered.opened.at(-1) as Opened;
const innermost = (): Block => current().blocks.at(-1) as Block;

function addBlock(title: string, body: Body, isSkipped: boolean): void {
  const outer = current();
  gathered.opened.push({
    titles: [...outer.titles, title],
    isSkipped: outer.isSkipped || isSkipped,
    blocks: [...outer.blocks, newBlock()],
  });
  body();
  gathered.opened.pop();
}

function addTest(title: string, body: Body, isSkipped: boolean, deadlineMs = gathered.deadlineMs): void {
  const { titles, blocks, ...outer } = current();
  gathered.tests.push({
    title: [...titles, title].join(" › "),
    isSkipped: outer.isSkipped || isSkipped,
    blocks,
    body,
    deadlineMs,
  });
}

type Add = (title: string, body: Body, isSkipped: boolean, deadlineMs?: number) => void;

/** Returns the title of a row: each %s and the like in it is the next value, %# the row's number. */
function titleOf(title: string, values: readonly unknown[], row: number): string {
  const shown = title.replaceAll("%#", String(row)).replaceAll("%p", "%j");
  return format(shown, ...values.slice(0, shown.match(/%[sdifj]/g)?.length ?? 0));
}

/** Each row is one argument or a list of them. */
const eachOf =
  (add: Add) =>
  (rows: readonly unknown[]): ((title: string, body: (...row: never[]) => unknown, deadlineMs?: number) => void) =>
  (title, body, deadlineMs) => {
    for (const [at, row] of rows.entries()) {
      const values = Array.isArray(row) ? row : [row];
      add(titleOf(title, values, at), () => body(...(values as never[])), false, deadlineMs);
    }
  };

export const describe = Object.assign((title: string, body: Body) => addBlock(title, body, false), {
  skip: (title: string, body: Body) => addBlock(title, body, true),
  each: eachOf(addBlock),
});

const addPlainTest = (title: string, body: Body, deadlineMs?: number): void => addTest(title, body, false, deadlineMs);

export const test = Object.assign(addPlainTest, {
  skip: (title: string, body: Body) => addTest(title, body, true),
  each: eachOf(addTest),
});

export const beforeAll = (body: Body): void => void innermost().beforeAll.push(body);
export const beforeEach = (body: Body): void => void innermost().before.push(body);
export const afterEach = (body: Body): void => void innermost().after.push(body);
export const afterAll = (body: Body): void => void innermost().afterAll.push(body);

export const jest = { setTimeout: (deadlineMs: number): void => void (gathered.deadlineMs = deadlineMs) };

export function gatheredTests(): readonly GatheredTest[] {
  return gathered.tests;
}
