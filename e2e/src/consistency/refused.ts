// Lets a client make a change without a line, in mode async, and another client one meanwhile, and looks at what comes
// of both once the line is back. On simulated ground, with the product's own client and server.
import { constants, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "@runnel/native/drive";
import { SeededRandom, SimulatedClock, SimulatedNetwork } from "@runnel/shared";
import { memoryFolder } from "./memory-folder.ts";
import { SimulatedClient } from "./simulated-client.ts";
import { SimulatedServer } from "./simulated-server.ts";

const DELAY_MS = 20;
const TERM_MS = 3_000;
const GIVE_UP_MS = 600_000;
/** Time in which everything is sent that can be. */
const SENT_MS = 60_000;
const { O_WRONLY, O_CREAT, O_TRUNC, O_RDONLY } = constants;

type Change = (program: Program) => Promise<void>;

/** Change that is made here, whether it is about a folder, and a pattern of the tree in which it has been done. */
interface Here {
  change: Change;
  isOfFolder?: true;
  done(tree: readonly string[]): boolean;
}

const has =
  (pattern: RegExp): Here["done"] =>
  (tree) =>
    tree.some((line) => pattern.test(line));
const hasNo =
  (pattern: RegExp): Here["done"] =>
  (tree) =>
    !has(pattern)(tree);

/** Changes by the words that the table has for them. */
export const HERE: Readonly<Record<string, Here>> = {
  "made a file": { change: (program) => write(program, "new", "mine"), done: has(/^new mine/) },
  "made a folder": { change: (program) => program.mkdir("new"), isOfFolder: true, done: has(/^new\/$/) },
  "wrote to a file": { change: (program) => write(program, "file", "mine"), done: has(/^(file|elsewhere) mine/) },
  "renamed a file": {
    change: (program) => program.rename("file", "new"),
    done: (tree) => has(/^new /)(tree) && hasNo(/^file /)(tree),
  },
  "linked a file": { change: (program) => program.link("file", "new"), done: has(/^new (before|theirs) 644 2$/) },
  "removed a file": { change: (program) => program.unlink("file"), done: hasNo(/^(file|elsewhere) /) },
  "removed a folder": {
    change: (program) => program.rmdir("folder"),
    isOfFolder: true,
    done: hasNo(/^(folder|elsewhere)\/$/),
  },
  "changed a mode": { change: (program) => program.chmod("file", 0o600), done: has(/ 600 /) },
  "changed an attribute": {
    change: (program) => program.setxattr("file", "user.mine", Buffer.from("mine")),
    done: has(/ user\.mine$/),
  },
};

/** `name`: of what was changed here. */
export const ELSEWHERE: Readonly<Record<string, (program: Program, name: string) => Promise<void>>> = {
  "made a file of that name": (program) => write(program, "new", "theirs"),
  "made a folder of that name": (program) => program.mkdir("new"),
  "wrote to it": (program, name) => write(program, name === "folder" ? "folder/in" : name, "theirs"),
  "removed it": (program, name) => (name === "folder" ? program.rmdir(name) : program.unlink(name)),
  "renamed it": (program, name) => program.rename(name, "elsewhere"),
};

/** All that there is in the end, and what the first client says. */
interface Ending {
  /** Lines of each client's drive: path, content, mode, links and extended attributes; a folder's path and a slash. */
  trees: string[][];
  problems: string[];
  conflicts: (string | null)[];
  unsentFiles: number;
}

async function write(program: Program, path: string, text: string): Promise<void> {
  const fd = await program.open(path, O_WRONLY | O_CREAT | O_TRUNC);
  await program.write(fd, 0, Buffer.from(text));
  await program.close(fd);
}

/** Lets both happen. */
export async function endingOf({ change, isOfFolder }: Here, elsewhere: string): Promise<Ending> {
  const folder = mkdtempSync(join(memoryFolder(), "runnel-refused-"));
  const clock = new SimulatedClock();
  const random = new SeededRandom(1);
  const network = new SimulatedNetwork(clock, random);
  const server = new SimulatedServer(clock, network, 1, TERM_MS);
  const clients = [true, false].map((isAsync, index) => {
    const line = { delayMs: DELAY_MS, jitterMs: 0 };
    return new SimulatedClient(`client${index}`, folder, { clock, network, random, line, losesPower: false, isAsync });
  });
  const run = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false;
    const mark = (): void => void (isDone = true);
    promise.then(mark, mark);
    if (!(await clock.runUntil(() => isDone, GIVE_UP_MS))) throw new Error("It does not end.");
    return promise;
  };
  try {
    await run(server.start());
    for (const client of clients) await run(client.start());
    const [mine, other] = clients;
    const programs = clients.map((client) => client.agent?.kernel.program());
    const [mineProgram, otherProgram] = programs;
    if (mine === undefined || other === undefined || mineProgram === undefined || otherProgram === undefined)
      throw new Error("There are no clients.");
    await run(write(otherProgram, "file", "before"));
    await run(otherProgram.mkdir("folder"));
    await clock.advance(2 * TERM_MS);
    for (const program of [mineProgram, otherProgram]) await run(treeOf(program, ""));
    mine.line.isDown = true;
    mine.line.cut();
    await clock.advance(2 * TERM_MS);
    await run(change(mineProgram));
    await run(
      ELSEWHERE[elsewhere]?.(otherProgram, isOfFolder ? "folder" : "file") ?? Promise.reject(new Error(elsewhere)),
    );
    mine.line.isDown = false;
    await clock.advance(SENT_MS);
    const trees = [await run(treeOf(mineProgram, "")), await run(treeOf(otherProgram, ""))];
    const status = await run(Promise.resolve(mine.agent?.mount.status(false)));
    const { problems = [], conflicts = [], unsentFiles = -1 } = status ?? {};
    return { trees, problems, conflicts: conflicts.map(({ conflictCopy }) => conflictCopy), unsentFiles };
  } finally {
    for (const client of clients) client.end();
    server.crash();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function treeOf(program: Program, path: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await program.readdir(path)).toSorted()) {
    const below = path === "" ? name : `${path}/${name}`;
    const { mode, sizeBytes, nlink } = await program.stat(below);
    if ((mode & 0o170000) === 0o040000) {
      lines.push(`${below}/`, ...(await treeOf(program, below)));
      continue;
    }
    const fd = await program.open(below, O_RDONLY);
    const text = Buffer.from(await program.read(fd, 0, sizeBytes)).toString();
    await program.close(fd);
    const xattrs = await program.listxattr(below);
    lines.push([below, text, (mode & 0o777).toString(8), String(nlink), ...xattrs].join(" "));
  }
  return lines;
}
