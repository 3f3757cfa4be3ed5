// `changes`: what programs feel that change many names and small files, on a drive in mode async and on libfuse's
// passthrough_ll. Server and agent are on this machine, over loopback: what is acknowledged is being sent meanwhile.
import { Sandbox, onMount, onMountInNode, waitFor } from "../src/harness/index.ts";
import { type BenchContext, type Benchmark, type Pair, type Result, formatTable, measurePairs } from "./benchmark.ts";
import * as work from "./change-work.ts";
import { mountPassthrough } from "./passthrough.ts";
import type { Task } from "./work.ts";

const FILE_BYTES = 4096;
const COUNTS = { full: 1_000, small: 300, tiny: 30 };
const TREE_FILES = { full: 5_000, small: 500, tiny: 30 };
const FILES_A_FOLDER = 100;
const DEADLINE_MS = 300_000;

interface Place {
  folder: string;
  /** Waits until nothing is on its way any more. */
  rest(): Promise<unknown>;
}

type Work = (task: Task) => Promise<number>;

/** Each row follows the one before in the same place: what was made is overwritten, renamed, removed. */
const CALLS: readonly [string, Work][] = [
  ["create, write 4 KiB, close", work.createFiles],
  ["overwrite 4 KiB, close", work.overwriteFiles],
  ["chmod", work.changeModes],
  ["rename", work.renameFiles],
  ["unlink", work.removeFiles],
  ["mkdir", work.makeFolders],
];

/** Programs that work on a tree of files; `$1` is the place, `$2` the tree on the local disk. */
const PROGRAMS: readonly [string, string][] = [
  ["cp -r", 'cp -r "$2" "$1/tree"'],
  ["git add", 'cd "$1/tree" && git init -q . && git add .'],
  ["rm -rf", 'rm -rf "$1/tree"'],
];

function pairsOf(drive: Place, passthrough: Place, tree: string, size: BenchContext["size"]): Pair[] {
  const count = COUNTS[size];
  const seeds = new Map<Place, number>();
  const call = async (place: Place, done: Work): Promise<number> => {
    if (done === work.createFiles) seeds.set(place, (seeds.get(place) ?? 0) + 1);
    const task = { folder: place.folder, bytes: FILE_BYTES, count, request: 0, seed: seeds.get(place) ?? 0 };
    const tookMs = await onMountInNode(done, task, { deadlineMs: DEADLINE_MS });
    await place.rest();
    return count / (tookMs / 1000);
  };
  const program = async (place: Place, script: string): Promise<number> => {
    const beganMs = performance.now();
    await onMount(script, [place.folder, tree], { deadlineMs: DEADLINE_MS });
    const tookMs = performance.now() - beganMs;
    await place.rest();
    return tookMs / 1000;
  };
  const pair = (what: string, unit: string, measure: (place: Place) => Promise<number>): Pair => ({
    what,
    unit,
    reference: "passthrough_ll",
    measure: () => measure(drive),
    measureReference: () => measure(passthrough),
  });
  const calls = CALLS.map(([what, done]) => pair(what, "1/s", (place) => call(place, done)));
  const files = TREE_FILES[size];
  const programs = PROGRAMS.map(([what, script]) =>
    pair(`${what}, ${files} files`, "s", (place) => program(place, script)),
  );
  return [...calls, ...programs];
}

/** Makes a tree of small files on the local disk. */
async function makeTree(sandbox: Sandbox, files: number): Promise<string> {
  const tree = sandbox.makeFolder("tree");
  const script =
    'cd "$1" && for i in $(seq "$2"); do [ $((i % $3)) = 1 ] && mkdir "$i" && cd "$i"; head -c $((1000 + RANDOM % 6000)) /dev/urandom > "$i"; [ $((i % $3)) = 0 ] && cd ..; done; true';
  await onMount(script, [tree, String(files), String(FILES_A_FOLDER)], { deadlineMs: DEADLINE_MS });
  return tree;
}

export const changesBenchmark: Benchmark = {
  name: "changes",
  about: "names and small files changed in mode async, beside libfuse's passthrough_ll; --size full|small|tiny",
  async run(context: BenchContext): Promise<Result> {
    const sandbox = new Sandbox(60 * 60_000);
    try {
      const server = await sandbox.startServer();
      const device = sandbox.device();
      const folder = sandbox.makeFolder("drive");
      await device.mount(`${server.url}/docs`, folder, ["--mode", "async"]);
      const isSent = async (): Promise<boolean> => (await device.runnel(["flush", folder])).code === 0;
      const drive = { folder, rest: () => waitFor(isSent, DEADLINE_MS, "what is to be sent") };
      const passthrough = { folder: await mountPassthrough(sandbox), rest: () => Promise.resolve() };
      const tree = await makeTree(sandbox, TREE_FILES[context.size]);
      const rows = await measurePairs(pairsOf(drive, passthrough, tree, context.size), context);
      await device.unmount(folder);
      return { rows, table: formatTable("changes", rows) };
    } finally {
      await sandbox.cleanup();
    }
  },
};
