// The bytes of a commit that is to be salvaged: from its log record, its staged file, and whatever may hold the
// versions it copies from. All of it is verified against the recipe, chunk by chunk; what cannot be verified is not
// used [F67].
import type { DiskFile, DiskRoot, Executor, Log } from "@runnel/shared";
import { chunkRanges, isRunnelError, wrongChunks, withFile } from "@runnel/shared";
import { STORE_FILE_MODE, TEMP_FOLDER, TRASH_FOLDER, isTrashName, joinPath, stagedPath } from "../disk/store-layout.ts";
import type { Run, WriteContent } from "../../../meta/meta-store.ts";
import type { SalvageCommit } from "./salvage-log.ts";
import type { SalvageTree } from "./salvage-tree.ts";
import { stateOf } from "./salvage-tree.ts";

const STEP_BYTES = 1024 * 1024;

/** A part of a run: `skip` bytes into it, at `offset` of the content. */
interface Piece {
  run: Run;
  skip: number;
  offset: number;
  length: number;
}

export interface SalvageContentDeps {
  root: DiskRoot;
  log: Log;
  executor: Executor;
  tree: SalvageTree;
}

export class SalvageContent {
  private readonly deps: SalvageContentDeps;
  /** Files in trash/ by node: which epoch they are of is not known. */
  private readonly trash = new Map<number, { seq: number; path: string }[]>();
  /** Files that applying has left in temp/. */
  private readonly temps: string[] = [];

  constructor(deps: SalvageContentDeps) {
    this.deps = deps;
  }

  /** Finds what lies in the store. */
  async start(): Promise<void> {
    await this.deps.root.list(TRASH_FOLDER, (entries) => {
      for (const { name } of entries) {
        const [, node, seq] = name?.split("-") ?? [];
        if (name === undefined || !isTrashName(name)) continue;
        const kept = { seq: Number(seq), path: joinPath(TRASH_FOLDER, name) };
        this.trash.set(Number(node), [...(this.trash.get(Number(node)) ?? []), kept]);
      }
    });
    await this.deps.root.list(TEMP_FOLDER, (entries) => {
      for (const { name, stat } of entries)
        if (name !== undefined && stat.type === "file") this.temps.push(joinPath(TEMP_FOLDER, name));
    });
  }

  /**
   * A synced file in temp/ with the commit's content and attributes, or undefined when its bytes cannot be verified.
   * `placeOf`: where a node's file is now.
   * @throws what the disk throws.
   */
  async build(
    commit: SalvageCommit,
    content: WriteContent,
    placeOf: (node: number) => string | undefined,
  ): Promise<string | undefined> {
    const path = `${TEMP_FOLDER}/salvage-${commit.seq}`;
    const write = async (file: DiskFile): Promise<string | undefined> => {
      await file.truncate(0);
      await file.truncate(content.sizeBytes);
      if (!(await this.fill(file, commit, content, placeOf))) return undefined;
      const state = stateOf(commit, commit.result.node);
      if (state !== undefined) await this.deps.tree.setAttributes(path, state);
      await file.sync();
      return path;
    };
    return withFile(this.deps.root, path, "create", write, STORE_FILE_MODE);
  }

  private async fill(
    file: DiskFile,
    commit: SalvageCommit,
    content: WriteContent,
    placeOf: (node: number) => string | undefined,
  ): Promise<boolean> {
    const { recipe, runs } = content;
    const pieces = piecesOf(runs, 0, content.sizeBytes);
    for (const piece of pieces) await this.copyOwn(file, commit, content, piece);
    // Without a recipe only what the log's own checksums cover is verified.
    if (recipe === undefined) return runs.every((run) => run.from === "log");
    const wrongOf = async (indexes: readonly number[]): Promise<number[]> =>
      wrongChunks(recipe, indexes, await this.deps.executor.digestFile(file, chunkRanges(recipe, indexes)));
    let wrong = await wrongOf([...recipe.lengths.keys()]);
    for (const candidate of wrong.length === 0 ? [] : this.candidates(commit, runs, placeOf)) {
      await this.copyFrom(
        candidate,
        file,
        chunkRanges(recipe, wrong).flatMap(({ offset, length }) => piecesOf(runs, offset, length)),
      );
      wrong = await wrongOf(wrong);
      if (wrong.length === 0) break;
    }
    return wrong.length === 0;
  }

  private async copyOwn(file: DiskFile, commit: SalvageCommit, content: WriteContent, piece: Piece): Promise<void> {
    if (piece.run.from === "temp")
      return this.withFile(stagedPath(content.temp), (staged) => copyRange(staged, piece.offset, file, piece));
    if (piece.run.from !== "log") return;
    for (let done = 0; done < piece.length; done += STEP_BYTES) {
      const count = Math.min(STEP_BYTES, piece.length - done);
      await file.write(
        piece.offset + done,
        await this.deps.log.read(commit.data, piece.run.at + piece.skip + done, count),
      );
    }
  }

  private async copyFrom(path: string, file: DiskFile, pieces: readonly Piece[]): Promise<void> {
    await this.withFile(path, async (source) => {
      for (const piece of pieces)
        if (piece.run.from === "version") await copyRange(source, piece.run.offset + piece.skip, file, piece);
    });
  }

  /** Files that may hold the versions copied from, likely ones first: what they hold is verified afterwards. */
  private *candidates(
    commit: SalvageCommit,
    runs: readonly Run[],
    placeOf: (node: number) => string | undefined,
  ): Generator<string> {
    const versions = new Map<string, { node: number; seq: number }>();
    for (const run of runs)
      if (run.from === "version") versions.set(`${run.version.node}-${run.version.seq}`, run.version);
    for (const { node, seq } of versions.values()) {
      const old = this.trash.get(node) ?? [];
      yield* old.toSorted((a, b) => Math.abs(a.seq - seq) - Math.abs(b.seq - seq)).map(({ path }) => path);
      const places = [placeOf(node), commit.sources.get(node), node === commit.result.node ? commit.path : undefined];
      for (const place of new Set(places)) if (place !== undefined) yield place;
      yield* this.deps.tree.asidesOf(node).toReversed();
    }
    if (versions.size > 0) yield* this.temps;
  }

  /** A file that is not there, or is none, helps nobody. */
  private async withFile(path: string, use: (file: DiskFile) => Promise<void>): Promise<void> {
    let file: DiskFile;
    try {
      file = await this.deps.root.open(path, "read");
    } catch (error) {
      if (isRunnelError(error, "NotFound", "NotFolder", "IsFolder", "Unsupported", "Denied", "Invalid")) return;
      throw error;
    }
    try {
      await use(file);
    } finally {
      await file.close();
    }
  }
}

async function copyRange(
  source: DiskFile,
  sourceOffset: number,
  target: DiskFile,
  { offset, length }: Piece,
): Promise<void> {
  await target.copyFrom(source, sourceOffset, offset, length);
}

/** The parts of runs that make up a range of the content. */
function piecesOf(runs: readonly Run[], offset: number, length: number): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const run of runs) {
    const from = Math.max(at, offset);
    const to = Math.min(at + run.length, offset + length);
    if (from < to) pieces.push({ run, skip: from - at, offset: from, length: to - from });
    at += run.length;
  }
  return pieces;
}
