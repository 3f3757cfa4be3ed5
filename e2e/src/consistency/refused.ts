// Lets a client make a change without a line, in mode async, and another client one meanwhile, and looks at what comes
// of both once the line is back. On simulated ground, with the product's own client and server.
import type { Program } from "@runnel/native/drive";
import { TwoClients, treeOf, write } from "./two-clients.ts";

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
  "put another in its place": {
    change: async (program) => {
      await write(program, ".new", "mine");
      await program.rename(".new", "file");
    },
    done: has(/^file mine/),
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

/** Lets both happen. */
export async function endingOf({ change, isOfFolder }: Here, elsewhere: string): Promise<Ending> {
  const clients = new TwoClients();
  const run = <T>(promise: Promise<T>): Promise<T> => clients.run(promise);
  try {
    await clients.start();
    const [mine, other] = clients.programs;
    await run(write(other, "file", "before"));
    await run(other.mkdir("folder"));
    for (const program of [mine, other]) await run(treeOf(program));
    await clients.cut();
    await run(change(mine));
    await run(ELSEWHERE[elsewhere]?.(other, isOfFolder ? "folder" : "file") ?? Promise.reject(new Error(elsewhere)));
    clients.join();
    await clients.sent();
    const trees = [await run(treeOf(mine)), await run(treeOf(other))];
    const status = await run(Promise.resolve(clients.first.agent?.mount.status(false)));
    const { problems = [], conflicts = [], unsentFiles = -1 } = status ?? {};
    return { trees, problems, conflicts: conflicts.map(({ conflictCopy }) => conflictCopy), unsentFiles };
  } finally {
    clients.close();
  }
}
