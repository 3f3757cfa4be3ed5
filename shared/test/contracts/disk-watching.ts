// Disk contract: watching a tree. Tests wait for what must be told and never for time.
import { describe, expect, test } from "@jest/globals";
import type { DiskRoot, Watch, WatchEvent } from "../../src/host/disk.ts";
import type { DiskContext } from "./disk-context.ts";
import { bytesOf, writeFile } from "./disk-steps.ts";

/** Everything a watch has told so far, and a way to wait for more. */
class Ear {
  readonly events: WatchEvent[] = [];
  #wake: () => void = () => undefined;

  readonly tell = (events: WatchEvent[]): void => {
    this.events.push(...events);
    this.#wake();
  };

  hasHeard(path: string, kind: WatchEvent["kind"] = "changed"): boolean {
    // "written" is both.
    const isHeard = (said: WatchEvent["kind"]): boolean => said === kind || (said === "written" && kind !== "overflow");
    return this.events.some((event) => event.path === path && isHeard(event.kind));
  }

  async waitFor(path: string, kind: WatchEvent["kind"] = "changed"): Promise<void> {
    while (!this.hasHeard(path, kind)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  forget(): void {
    this.events.length = 0;
  }
}

async function listening(
  root: DiskRoot,
  work: (ear: Ear) => Promise<void>,
  leaveOut?: readonly string[],
): Promise<void> {
  const ear = new Ear();
  const watch: Watch = await root.watch(ear.tell, leaveOut);
  try {
    await work(ear);
  } finally {
    await watch.close();
  }
}

export function describeWatching(context: DiskContext): void {
  describe("watching", () => {
    test("tells creations, attributes, renames and removals", async () => {
      await listening(context.root, async (ear) => {
        await writeFile(context.root, "a", "A");
        await ear.waitFor("a");
        ear.forget();
        await context.root.setStat("a", { mode: 0o600 });
        await ear.waitFor("a");
        ear.forget();
        await context.root.rename("a", "b", "replace");
        await ear.waitFor("a");
        await ear.waitFor("b");
        ear.forget();
        await context.root.removeFile("b");
        await ear.waitFor("b");
        ear.forget();
        await context.root.makeSymlink("c", "nowhere");
        await ear.waitFor("c");
      });
    });

    test("tells writes while they go on, and their end", async () => {
      const file = await context.root.open("a", "create");
      await listening(context.root, async (ear) => {
        await file.write(0, bytesOf("A"));
        await ear.waitFor("a", "writing");
        expect(ear.hasHeard("a", "changed")).toBe(false);
        await file.close();
        await ear.waitFor("a", "changed");
      });
    });

    test("tells of bytes that were written, also when the file was closed at once", async () => {
      await listening(context.root, async (ear) => {
        await writeFile(context.root, "a", "A");
        await ear.waitFor("a", "writing");
        await ear.waitFor("a", "changed");
      });
    });

    test("tells what happens in folders that were there", async () => {
      await context.root.makeFolder("x");
      await context.root.makeFolder("x/y");
      await writeFile(context.root, "x/y/old", "");
      await listening(context.root, async (ear) => {
        await writeFile(context.root, "x/y/new", "");
        await ear.waitFor("x/y/new");
        await context.root.removeFile("x/y/old");
        await ear.waitFor("x/y/old");
        expect(ear.hasHeard("x")).toBe(false);
      });
    });

    test("misses nothing in folders that appear, however fast they fill", async () => {
      await listening(context.root, async (ear) => {
        let path = "deep";
        await context.root.makeFolder(path);
        for (let depth = 0; depth < 30; depth++) {
          await writeFile(context.root, `${path}/file`, "");
          path += "/deep";
          await context.root.makeFolder(path);
        }
        await writeFile(context.root, `${path}/last`, "");
        for (let at = path; at.includes("/"); at = at.slice(0, at.lastIndexOf("/"))) {
          await ear.waitFor(at);
          if (at !== path) await ear.waitFor(`${at}/file`);
        }
        await ear.waitFor(`${path}/last`);
        ear.forget();
        await writeFile(context.root, `${path}/later`, "");
        await ear.waitFor(`${path}/later`);
      });
    });

    test("tells a renamed folder with all that is in it, and follows it", async () => {
      await context.root.makeFolder("x");
      await context.root.makeFolder("x/y");
      await writeFile(context.root, "x/y/a", "");
      await listening(context.root, async (ear) => {
        await context.root.rename("x", "z", "replace");
        await ear.waitFor("x");
        await ear.waitFor("z");
        await ear.waitFor("z/y/a");
        ear.forget();
        await writeFile(context.root, "z/y/b", "");
        await ear.waitFor("z/y/b");
        expect(ear.events.filter((event) => event.path.startsWith("x"))).toEqual([]);
      });
    });

    test("follows folders that are exchanged", async () => {
      for (const name of ["x", "y"]) {
        await context.root.makeFolder(name);
        await context.root.makeFolder(`${name}/in`);
      }
      await writeFile(context.root, "x/in/from-x", "");
      await listening(context.root, async (ear) => {
        await context.root.rename("x", "y", "exchange");
        await ear.waitFor("y/in/from-x");
        await ear.waitFor("x");
        ear.forget();
        await context.root.setStat("y/in/from-x", { mode: 0o600 });
        await ear.waitFor("y/in/from-x");
        await writeFile(context.root, "x/in/new", "");
        await ear.waitFor("x/in/new");
      });
    });

    test("follows a folder that comes back under a name that was used", async () => {
      await listening(context.root, async (ear) => {
        for (let round = 0; round < 10; round++) {
          await context.root.makeFolder("x");
          await writeFile(context.root, `x/${round}`, "");
          await ear.waitFor(`x/${round}`);
          await context.root.removeFile(`x/${round}`);
          await context.root.removeFolder("x");
        }
      });
    });

    test("hears nothing from a folder that left the tree", async () => {
      await context.root.makeFolder("watched");
      await context.root.makeFolder("watched/x");
      const watched = await context.disk.openRoot(`${context.folder}/watched`);
      await listening(watched, async (ear) => {
        await context.root.rename("watched/x", "x", "replace");
        await ear.waitFor("x");
        ear.forget();
        await writeFile(context.root, "x/a", "");
        await writeFile(context.root, "watched/end", "");
        await ear.waitFor("end");
        expect(ear.events.filter((event) => event.path !== "end")).toEqual([]);
      });
      await watched.close();
    });

    test("leaves out names of the root, and only there", async () => {
      await context.root.makeFolder(".out");
      await context.root.makeFolder("x");
      await context.root.makeFolder("x/.out");
      const leaveOut = async (ear: Ear): Promise<void> => {
        await writeFile(context.root, ".out/a", "");
        await context.root.makeFolder(".out/b");
        await context.root.setStat(".out", { mode: 0o700 });
        await writeFile(context.root, "x/.out/a", "");
        await ear.waitFor("x/.out/a");
        expect(ear.events.filter((event) => event.path.startsWith(".out"))).toEqual([]);
      };
      await listening(context.root, leaveOut, [".out"]);
    });

    test("does not look behind symlinks", async () => {
      await context.root.makeFolder("watched");
      await context.root.makeFolder("outside");
      await context.root.makeSymlink("watched/before", "../outside");
      const watched = await context.disk.openRoot(`${context.folder}/watched`);
      await listening(watched, async (ear) => {
        await context.root.makeSymlink("watched/after", "../outside");
        await ear.waitFor("after");
        await writeFile(context.root, "outside/a", "");
        await writeFile(context.root, "watched/end", "");
        await ear.waitFor("end");
        expect(ear.events.filter((event) => event.path.includes("/"))).toEqual([]);
      });
      await watched.close();
    });

    test("tells nothing after it was closed, and does not disturb another watch", async () => {
      const closed = new Ear();
      const watch = await context.root.watch(closed.tell);
      await listening(context.root, async (ear) => {
        await watch.close();
        closed.forget();
        await writeFile(context.root, "a", "");
        await ear.waitFor("a");
        expect(closed.events).toEqual([]);
      });
    });
  });
}
