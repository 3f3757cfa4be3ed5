// A script of steps by chance, each possible after those before it.
import { SeededRandom } from "@runnel/shared";
import type { Step, Tree } from "./script.ts";
import {
  edit,
  exchange,
  link,
  makeFolder,
  noiseOf,
  read,
  remove,
  rename,
  save,
  saveNew,
  symlink,
  together,
} from "./script.ts";
import { truncate } from "./script.ts";

const SIZE_MAX = 200 * 1024;
const SMALL_MAX = 6000;
const TOGETHER = 4;

export function randomSteps(seed: number, count: number, files: Record<string, Uint8Array>): Step[] {
  const random = new SeededRandom(seed);
  const tree: Tree = new Map(
    Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes).toString("latin1")]),
  );
  const steps: Step[] = [];
  while (steps.length < count) {
    for (const step of new Choice(random, tree, steps.length).steps()) {
      step.model(tree);
      steps.push(step);
    }
  }
  return steps;
}

class Choice {
  private readonly random: SeededRandom;
  private readonly tree: Tree;
  private readonly number: number;
  /** Regular files; no step makes a symlink one, or the other way. */
  private readonly files: string[];

  constructor(random: SeededRandom, tree: Tree, number: number) {
    this.random = random;
    this.tree = tree;
    this.number = number;
    this.files = [...tree].filter(([path, content]) => content !== undefined && !isSymlink(path)).map(([path]) => path);
  }

  /** None: what was chosen is not possible now. */
  steps(): Step[] {
    const { random } = this;
    const file = this.pick(this.files);
    const choice = random.below(11);
    if (choice === 0) return [makeFolder(this.free("folder"))];
    if (choice === 1) return [(random.coin() ? save : saveNew)(this.free("file"), this.bytes(SIZE_MAX))];
    if (choice === 2) return [this.several()];
    if (choice === 3) return [symlink("anywhere", this.free("symlink"))];
    if (choice === 4) return this.moveFolder();
    return file === undefined ? [] : this.withFile(choice, file);
  }

  private withFile(choice: number, file: string): Step[] {
    const { random } = this;
    const other = this.pick(this.files) ?? file;
    const free = this.free("file");
    if (choice === 5) return [edit(file, random.below(this.sizeOf(file) + 1), this.bytes(SMALL_MAX))];
    if (choice === 6) return [rename(file, random.coin() ? free : other)];
    // The model knows no two names of one file for longer.
    if (choice === 7) return [link(file, free), remove(file)];
    if (choice === 8) return [random.coin() ? remove(file) : truncate(file, random.below(SIZE_MAX))];
    if (choice === 9) return [read(file, Buffer.from(this.tree.get(file) ?? "", "latin1"))];
    return file === other ? [save(file, this.bytes(SMALL_MAX))] : [exchange(file, other)];
  }

  private several(): Step {
    const path = this.free("file");
    return together(...Array.from({ length: TOGETHER }, (_, index) => save(`${path}.${index}`, this.bytes(SMALL_MAX))));
  }

  private moveFolder(): Step[] {
    const folder = this.pick(this.folders());
    if (folder === undefined) return [];
    const isEmpty = ![...this.tree.keys()].some((path) => path.startsWith(`${folder}/`));
    if (isEmpty && this.random.coin()) return [remove(folder, true)];
    const to = this.free("folder");
    return to.startsWith(`${folder}/`) ? [] : [rename(folder, to)];
  }

  private folders(): string[] {
    return [...this.tree].filter(([, content]) => content === undefined).map(([path]) => path);
  }

  /** A path that nothing has, in some folder. */
  private free(kind: string): string {
    const folder = this.random.coin() ? undefined : this.pick(this.folders());
    const name = `${kind} ${this.number}`;
    return folder === undefined ? name : `${folder}/${name}`;
  }

  private pick(from: readonly string[]): string | undefined {
    return from[this.random.below(from.length)];
  }

  private sizeOf(path: string): number {
    return this.tree.get(path)?.length ?? 0;
  }

  private bytes(most: number): Uint8Array {
    return noiseOf(this.random.below(2 ** 31), 1 + this.random.below(most));
  }
}

function isSymlink(path: string): boolean {
  return path.split("/").at(-1)?.startsWith("symlink ") === true;
}
