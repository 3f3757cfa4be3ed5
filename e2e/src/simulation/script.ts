// Steps that a program does on the drive, and the file tree after each. Each step is done once, on a drive whose line
// may break at any moment; a refusal that means that nothing was done (offline) is tried again.
import { constants } from "node:fs";
import type { Program } from "@runnel/native/drive";
import { SeededRandom } from "@runnel/shared";

const { O_RDWR, O_RDONLY, O_CREAT, O_TRUNC, O_EXCL } = constants;
const EROFS = 30;
const EIO = 5;
const KiB = 1024;
const READ_BYTES = 128 * KiB;

/** Path → content; undefined is a folder. A symlink's content is its target. */
export type Tree = Map<string, string | undefined>;

export interface Step {
  what: string;
  act(on: Steps): Promise<void>;
  /** The same on the model. */
  model(tree: Tree): void;
}

export class Steps {
  private readonly program: Program;
  private readonly connected: () => Promise<void>;

  constructor(program: Program, connected: () => Promise<void>) {
    this.program = program;
    this.connected = connected;
  }

  /** Refused because offline: nothing was sent. With `mayFail` also where the answer is not known now. */
  private async again<T>(call: () => Promise<T>, reads = false): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const { errno } = error as { errno?: number };
        if (errno !== EROFS && !(reads && errno === EIO)) throw error;
        await this.connected();
      }
    }
  }

  change(call: (program: Program) => Promise<void>): Promise<void> {
    return this.again(() => call(this.program));
  }

  async write(path: string, flags: number, offset: number, bytes: Uint8Array): Promise<void> {
    const fd = await this.again(() => this.program.open(path, flags), true);
    await this.program.write(fd, offset, bytes);
    await this.program.close(fd);
  }

  async read(path: string): Promise<string> {
    const fd = await this.again(() => this.program.open(path, O_RDONLY), true);
    const parts: Uint8Array[] = [];
    for (let offset = 0; ;) {
      const bytes = await this.program.read(fd, offset, READ_BYTES);
      if (bytes.length === 0) break;
      parts.push(bytes);
      offset += bytes.length;
    }
    await this.program.close(fd);
    return Buffer.concat(parts).toString("latin1");
  }

  /** All that the drive shows. */
  async tree(): Promise<Tree> {
    const tree: Tree = new Map();
    const walk = async (folder: string): Promise<void> => {
      for (const name of await this.again(() => this.program.readdir(folder), true)) {
        const path = folder === "" ? name : `${folder}/${name}`;
        const { mode } = await this.again(() => this.program.lstat(path), true);
        const type = mode & constants.S_IFMT;
        if (type === constants.S_IFDIR) {
          tree.set(path, undefined);
          await walk(path);
        } else if (type === constants.S_IFLNK) tree.set(path, await this.program.readlink(path));
        else tree.set(path, await this.read(path));
      }
    };
    await walk("");
    return tree;
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Bytes that no compressor shrinks. */
export function noiseOf(seed: number, length: number): Uint8Array {
  return new SeededRandom(seed).bytes(length);
}

function contentOf(tree: Tree, path: string): string {
  const content = tree.get(path);
  if (content === undefined) throw new Error(`There is no file ${path} in the model.`);
  return content;
}

export function save(path: string, bytes: Uint8Array): Step {
  return {
    what: `save ${path}`,
    act: (on) => on.write(path, O_RDWR | O_CREAT | O_TRUNC, 0, bytes),
    model: (tree) => void tree.set(path, text(bytes)),
  };
}

export function saveNew(path: string, bytes: Uint8Array): Step {
  return { ...save(path, bytes), act: (on) => on.write(path, O_RDWR | O_CREAT | O_EXCL, 0, bytes) };
}

export function edit(path: string, offset: number, bytes: Uint8Array): Step {
  return {
    what: `edit ${path}`,
    act: (on) => on.write(path, O_RDWR, offset, bytes),
    model: (tree) => {
      const before = contentOf(tree, path);
      tree.set(path, before.slice(0, offset) + text(bytes) + before.slice(offset + bytes.length));
    },
  };
}

export function makeFolder(path: string): Step {
  return {
    what: `make ${path}`,
    act: (on) => on.change((program) => program.mkdir(path)),
    model: (tree) => void tree.set(path, undefined),
  };
}

export function symlink(target: string, path: string): Step {
  return {
    what: `symlink ${path}`,
    act: (on) => on.change((program) => program.symlink(target, path)),
    model: (tree) => void tree.set(path, target),
  };
}

export function link(path: string, other: string): Step {
  return {
    what: `link ${path} as ${other}`,
    act: (on) => on.change((program) => program.link(path, other)),
    model: (tree) => void tree.set(other, contentOf(tree, path)),
  };
}

/** All below it moves along. */
export function rename(path: string, to: string): Step {
  return {
    what: `rename ${path} to ${to}`,
    act: (on) => on.change((program) => program.rename(path, to)),
    model: (tree) => {
      for (const [at, content] of Array.from(tree)) {
        if (at !== path && !at.startsWith(`${path}/`)) continue;
        tree.delete(at);
        tree.set(to + at.slice(path.length), content);
      }
    },
  };
}

export function exchange(path: string, other: string): Step {
  return {
    what: `exchange ${path} and ${other}`,
    act: (on) => on.change((program) => program.rename(path, other, 2)),
    model: (tree) => {
      const [one, two] = [contentOf(tree, path), contentOf(tree, other)];
      tree.set(path, two);
      tree.set(other, one);
    },
  };
}

export function remove(path: string, isFolder = false): Step {
  return {
    what: `remove ${path}`,
    act: (on) => on.change((program) => (isFolder ? program.rmdir(path) : program.unlink(path))),
    model: (tree) => void tree.delete(path),
  };
}

export function truncate(path: string, sizeBytes: number): Step {
  return {
    what: `truncate ${path}`,
    act: (on) => on.change((program) => program.truncate(path, sizeBytes)),
    model: (tree) => void tree.set(path, contentOf(tree, path).slice(0, sizeBytes).padEnd(sizeBytes, "\0")),
  };
}

export function setMode(path: string, mode: number): Step {
  return {
    what: `chmod ${path}`,
    act: (on) => on.change((program) => program.chmod(path, mode)),
    model: () => undefined,
  };
}

export function setXattr(path: string, name: string, value: Uint8Array): Step {
  return {
    what: `setxattr ${path}`,
    act: (on) => on.change((program) => program.setxattr(path, name, value)),
    model: () => undefined,
  };
}

/** @throws when it is not what the model has. */
export function read(path: string, expected: Uint8Array): Step {
  return {
    what: `read ${path}`,
    act: async (on) => {
      const found = await on.read(path);
      if (found !== text(expected))
        throw new Error(`${path} has another content, of ${found.length} bytes and not ${expected.length}.`);
    },
    model: () => undefined,
  };
}

/** All at once, as many programs would. */
export function together(...steps: readonly Step[]): Step {
  return {
    what: steps.map(({ what }) => what).join(" + "),
    act: async (on) => {
      await Promise.all(steps.map((step) => step.act(on)));
    },
    model: (tree) => {
      for (const step of steps) step.model(tree);
    },
  };
}
