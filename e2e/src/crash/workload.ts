// The work of programs on a drive while it crashes, and what may be there afterwards. Each program works in a folder of
// its own: a list of steps, each logged when the system said that it succeeded. Pure: the same list is performed by
// perform.ts and modelled here.
import { createHash } from "node:crypto";

export type Step =
  /** Open (new or emptied), write in pieces, close. */
  | { do: "save"; path: string; bytes: number; isSynced: boolean }
  /** Writes over ranges in place, and at the end; then fsync and close. */
  | { do: "edit"; path: string; edits: { offset: number; bytes: number }[] }
  | { do: "mkdir" | "rmdir" | "unlink"; path: string }
  | { do: "rename" | "link"; path: string; to: string }
  | { do: "symlink"; path: string; target: string }
  | { do: "chmod"; path: string; mode: number }
  | { do: "truncate"; path: string; bytes: number };

/** Path → what it is, in words that two places have in common only when it is the same. */
export type Tree = ReadonlyMap<string, string>;

interface Node {
  is: "file" | "folder" | "symlink";
  content: Buffer;
  mode: number;
  target: string;
}

const SMALL_BYTES = 700;
/** Size that stays in the log record. */
const MIDDLE_BYTES = 90_000;
/** More than a record holds: it is staged. */
const LARGE_BYTES = 1_300_000;

/** The steps of a program; sizes differ by program and round, so that no two contents are alike. */
export function stepsOf(program: number): Step[] {
  const more = 1000 * program + 17;
  return [
    { do: "mkdir", path: "a" },
    { do: "save", path: "a/x", bytes: SMALL_BYTES + more, isSynced: false },
    { do: "save", path: "a/large", bytes: LARGE_BYTES + more, isSynced: true },
    { do: "save", path: "a/x.tmp", bytes: MIDDLE_BYTES + more, isSynced: true },
    { do: "rename", path: "a/x.tmp", to: "a/x" },
    {
      do: "edit",
      path: "a/large",
      edits: [
        { offset: 1000, bytes: 300 },
        { offset: 700_000, bytes: 5000 },
        { offset: LARGE_BYTES + more, bytes: 900 },
      ],
    },
    { do: "mkdir", path: "b" },
    { do: "rename", path: "a/large", to: "b/large" },
    { do: "link", path: "b/large", to: "b/hard" },
    { do: "symlink", path: "b/link", target: "large" },
    { do: "save", path: "b/large", bytes: MIDDLE_BYTES + 3 * more, isSynced: false },
    { do: "chmod", path: "a/x", mode: 0o640 },
    { do: "edit", path: "a/x", edits: [{ offset: 5, bytes: 20 }] },
    { do: "truncate", path: "a/x", bytes: 50_000 },
    { do: "unlink", path: "b/hard" },
    { do: "rename", path: "a", to: "c" },
    { do: "save", path: "c/last", bytes: SMALL_BYTES + 2 * more, isSynced: false },
    { do: "unlink", path: "c/x" },
    { do: "mkdir", path: "d" },
    { do: "rmdir", path: "d" },
  ];
}

/** Bytes that say whose they are: no two steps write the same. */
export function bytesOf(seed: string, length: number): Buffer {
  return createHash("shake256", { outputLength: length }).update(seed).digest();
}

/** Bytes that a step writes. `edit` counts its edits. */
export function written(seed: string, index: number, edit: number, length: number): Buffer {
  return bytesOf(`${seed}/${index}/${edit}`, length);
}

/** Every tree that a program may leave: the steps up to `done` acknowledged, the next perhaps begun. */
export function possibleTrees(seed: string, steps: readonly Step[], done: number): Tree[] {
  let tree = new Map<string, Node>();
  for (const [index, step] of steps.slice(0, done).entries()) tree = after(tree, step, seed, index);
  const next = steps[done];
  if (next === undefined) return [shown(tree)];
  const possible = [tree, after(tree, next, seed, done)];
  // A file is there, empty, before its content is.
  if (next.do === "save" && !tree.has(next.path)) possible.push(new Map([...tree, [next.path, file(Buffer.alloc(0))]]));
  return possible.map(shown);
}

function after(before: ReadonlyMap<string, Node>, step: Step, seed: string, index: number): Map<string, Node> {
  const tree = new Map(before);
  const node = tree.get(step.path);
  if (step.do === "save") {
    const content = written(seed, index, 0, step.bytes);
    tree.set(step.path, file(content, node?.mode));
    // Both names of a linked file.
    if (node !== undefined)
      for (const [path, other] of before) if (other === node) tree.set(path, tree.get(step.path) as Node);
  } else if (step.do === "edit" && node !== undefined) {
    let content = Buffer.from(node.content);
    for (const [edit, { offset, bytes }] of step.edits.entries()) {
      if (offset + bytes > content.length)
        content = Buffer.concat([content, Buffer.alloc(offset + bytes - content.length)]);
      written(seed, index, edit, bytes).copy(content, offset);
    }
    tree.set(step.path, { ...node, content });
  } else if (step.do === "truncate" && node !== undefined)
    tree.set(step.path, { ...node, content: Buffer.from(node.content.subarray(0, step.bytes)) });
  else if (step.do === "chmod" && node !== undefined) tree.set(step.path, { ...node, mode: step.mode });
  else if (step.do === "link" && node !== undefined) tree.set(step.to, node);
  else if (step.do === "mkdir") tree.set(step.path, { is: "folder", content: Buffer.alloc(0), mode: 0, target: "" });
  else if (step.do === "symlink")
    tree.set(step.path, { is: "symlink", content: Buffer.alloc(0), mode: 0, target: step.target });
  else if (step.do === "rename") move(tree, step.path, step.to);
  else tree.delete(step.path);
  return tree;
}

function move(tree: Map<string, Node>, from: string, to: string): void {
  for (const [path, node] of Array.from(tree)) {
    if (path !== from && !path.startsWith(`${from}/`)) continue;
    tree.delete(path);
    tree.set(to + path.slice(from.length), node);
  }
}

function file(content: Buffer, mode = 0o644): Node {
  return { is: "file", content, mode, target: "" };
}

function shown(tree: ReadonlyMap<string, Node>): Tree {
  return new Map([...tree].map(([path, node]) => [path, describe(node.is, node.mode, node.target, node.content)]));
}

/** Describes a node in words. */
export function describe(is: string, mode: number, target: string, content: Buffer): string {
  if (is !== "file") return `${is} ${target}`.trim();
  return `file ${mode.toString(8)} ${content.length} ${createHash("sha256").update(content).digest("hex").slice(0, 16)}`;
}
