// Faults put into the product on purpose, each one that a rule of contents and folders is there to prevent: nothing
// that somebody saved is given up while nobody has put anything in its place, and nothing is accepted without the
// volume's own folder and data. What is replaced is as in mutants.ts.
import { Saves } from "@runnel/app/internals";
import type { AcceptedCommit } from "@runnel/server/internals";
import {
  BaseHolds,
  SupersededVersions,
  RootGuard,
  ServedVolume,
  ServingLock,
  Supplies,
} from "@runnel/server/internals";
import type { Disk, DiskRoot } from "@runnel/shared";
import type { Mutant } from "./mutant.ts";
import { replace } from "./replace.ts";
import { FOLDER } from "../../simulation/serve-folder.ts";

type Find = Parameters<SupersededVersions["find"]>;
type Lineage = ReturnType<Saves["lineage"]>;

const MARKER = ".runnel-store/volume";
const MARKER_BYTES_MAX = 4096;
/** The note in a volume's data of who serves it. */
const DATA_NOTE = "serving";

export const CONTENT_MUTANTS: readonly Mutant[] = [
  {
    name: "the loser of a conflict forgotten before it is up",
    settings: { powers: ["large"], isLarge: true, faults: ["serverDiskSlow"] },
    apply: () =>
      replace<SupersededVersions, Find>(
        SupersededVersions.prototype,
        "find",
        (original) =>
          function (batch, isNeeded) {
            return original.call(this, asOfOneWriter(batch), isNeeded);
          },
      ),
  },
  {
    name: "an unsent content thrown away by the next save of its file",
    settings: { powers: ["unsent"], faults: ["serverDiskFull"] },
    apply: () => {
      replace(Saves.prototype, "show", () => () => undefined);
      replace<Saves, [number, number, number]>(
        Saves.prototype,
        "lineage",
        (original) =>
          function (...args) {
            const lineage = original.call(this, ...args) as Lineage;
            if (lineage === undefined) return undefined;
            const unsent = this.of(lineage.node).filter(({ state }) => state === "unsent");
            return { ...lineage, replaces: [...new Set([...lineage.replaces, ...unsent])] };
          },
      );
    },
  },
  {
    name: "a base that is not secured before the answer, and asked for of nobody",
    settings: { powers: ["outside"], isEdited: true, faults: ["wallJump"] },
    apply: () => {
      replace(BaseHolds.prototype, "keep", () => async () => true);
      replace(Supplies.prototype, "ask", () => async () => undefined);
    },
  },
  {
    name: "an empty data folder served as if it were the volume's",
    settings: { powers: ["unavailable"], faults: ["dataLost"] },
    apply: () => {
      replace<{ offer: object }, []>(
        ServedVolume.prototype,
        "start",
        (original) =>
          async function () {
            this.offer = { ...this.offer, probe: async () => undefined };
            await original.call(this);
          },
      );
      replace<unknown, [Disk, DiskRoot, string, string]>(
        ServingLock,
        "take",
        (original) =>
          async function (disk, root, path, what) {
            if (path === DATA_NOTE) await takeIdOfFolder(disk, root);
            return original.call(this, disk, root, path, what);
          },
      );
    },
  },
  {
    name: "a folder that goes while it is served is not noticed",
    settings: { powers: ["unavailable"], faults: ["folderAway"] },
    apply: () => {
      const found = new WeakSet<object>();
      replace<RootGuard, []>(
        RootGuard.prototype,
        "check",
        (original) =>
          async function () {
            if (found.has(this)) return;
            await original.call(this);
            found.add(this);
          },
      );
    },
  },
];

/** Changes a batch as if each write of a file had begun with what the one before it saved. */
function asOfOneWriter(batch: readonly AcceptedCommit[]): AcceptedCommit[] {
  const last = new Map<number, number>();
  return batch.map((commit) => {
    const { operation, result } = commit;
    if (operation.op !== "write") return commit;
    const base = last.get(result.node) ?? operation.base;
    last.set(result.node, result.version);
    return { ...commit, instance: "", operation: { ...operation, base }, result: { ...result, conflict: false } };
  });
}

async function takeIdOfFolder(disk: Disk, data: DiskRoot): Promise<void> {
  const folder = await disk.openRoot(FOLDER);
  try {
    const marker = await folder.open(MARKER, "read");
    const text = Buffer.from(await marker.read(0, MARKER_BYTES_MAX)).toString();
    await marker.close();
    const own = await data.open("volume", "create", 0o600);
    await own.write(0, Buffer.from((JSON.parse(text) as { volume: string }).volume));
    await own.close();
  } catch {
    // It has none yet.
  }
  await folder.close();
}
