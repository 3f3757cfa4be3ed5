// Pauses of folders and files in a drive: nothing of them is sent or fetched until the end, while the rest of the drive
// goes on. What is here of them stays readable; what is changed waits in the journal where the mode allows that. A
// pause goes with its folder where that is renamed.
import { type Clock, RunnelError } from "@runnel/shared";
import type { FolderPause, FolderPauseStatus, FolderRow, Pause } from "../mount-status.ts";
import type { MountSettings } from "../mount.ts";
import type { HappeningKind } from "../view/mount-watch.ts";
import type { Passage, Passages } from "./passages.ts";
import { PauseTerm } from "./pause-term.ts";

export interface FolderPausesDeps {
  /** Has the pauses, which outlive this process. */
  settings: Pick<MountSettings, "mountpoint" | "pausedFolders">;
  clock: Clock;
  /** The tree as programs see it. */
  names: {
    namesOf(node: number): readonly { folder: number }[];
    pathOf(node: number): string | undefined;
    /** Returns the node at a path, as far as is known here; 0: none. */
    nodeAt(path: string): number;
  };
  happened(kind: HappeningKind, path: string, detail: string): void;
  /** Others are paused than before. */
  changed(): void;
}

interface Paused {
  settings: FolderPause;
  term: PauseTerm;
}

export class FolderPauses implements Passages {
  readonly #deps: FolderPausesDeps;
  #all: Paused[] = [];
  readonly #passing = new Set<{ nodes: readonly number[]; path: string | undefined; stop: AbortController }>();

  constructor(deps: FolderPausesDeps) {
    this.#deps = deps;
  }

  status(): FolderPauseStatus[] {
    return this.#all.map(({ settings, term }) => ({ path: this.#pathOf(settings), ...term.status() }));
  }

  /** Takes what a former mount left, before anything is asked of the server. */
  begin(): void {
    for (const settings of this.#deps.settings.pausedFolders ?? []) this.#add(settings);
    for (const { term } of this.#all) term.follow();
  }

  /** Nodes are of this epoch now: in another one pauses are of what lies at their paths. */
  attached(epoch: string): void {
    for (const { settings } of this.#all) if (settings.epoch !== epoch) [settings.epoch, settings.node] = [epoch, 0];
  }

  /** Pauses what is at a path, or gives the pause of that another end. */
  pause(path: string, at: { node: number; epoch: string }, pause: Pause): void {
    this.#take(path)?.term.close();
    const added = this.#add({ path, ...at, ...pause });
    this.#store();
    this.#deps.happened("paused", path, added.term.words);
    this.#stop();
    this.#deps.changed();
    added.term.follow();
  }

  /** @returns false where that is not paused by itself. */
  resume(path: string): boolean {
    const ended = this.#take(path);
    if (ended !== undefined) this.#ended(ended, "");
    return ended !== undefined;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  isPaused(nodes: readonly number[], path?: string): boolean {
    return this.#pausing(nodes, path) !== undefined;
  }

  #pausing(nodes: readonly number[], path?: string): Paused | undefined {
    if (this.#all.length === 0) return undefined;
    const above = new Set(nodes);
    for (const node of above) for (const { folder } of this.#deps.names.namesOf(node)) above.add(folder);
    return this.#all.find(({ settings }) => {
      const paused = this.#pathOf(settings);
      return above.has(settings.node) || (path !== undefined && isAtOrBelow(path, paused));
    });
  }

  why(nodes: readonly number[], path?: string): string | undefined {
    const found = this.#pausing(nodes, path);
    return found && this.#sentence(found);
  }

  #sentence({ settings, term }: Paused): string {
    const paused = this.#pathOf(settings);
    const at = `${this.#deps.settings.mountpoint}/${paused}`;
    return `Paused ${term.words}: nothing of ${paused} is sent or fetched. Resume it: runnel resume ${at}`;
  }

  enter(operation: string, nodes: readonly number[], path?: string): Passage {
    const why = this.why(nodes, path);
    if (why !== undefined) throw new RunnelError("Unreachable", operation, why);
    const passing = { nodes, path, stop: new AbortController() };
    this.#passing.add(passing);
    return { signal: passing.stop.signal, [Symbol.dispose]: () => this.#passing.delete(passing) };
  }

  #stop(): void {
    for (const { nodes, path, stop } of this.#passing) {
      const why = this.why(nodes, path);
      if (why !== undefined) stop.abort(new RunnelError("Unreachable", "pause", why));
    }
  }

  /** Returns how a row of a folder's listing shows the node. */
  rowOf(node: number): FolderRow["pause"] {
    const found = this.#pausing([node]);
    return found === undefined ? null : { isOwn: found.settings.node === node, until: found.term.words };
  }

  /** Says why what is at a path cannot be changed with all below it; undefined: nothing of it is paused. */
  whyWhole(path: string): string | undefined {
    const found = this.#all.find(({ settings }) => {
      const paused = this.#pathOf(settings);
      return isAtOrBelow(path, paused) || isAtOrBelow(paused, path);
    });
    return found && this.#sentence(found);
  }

  close(): void {
    for (const { term } of this.#all) term.close();
  }

  #add(settings: FolderPause): Paused {
    const { clock, happened } = this.#deps;
    const term = new PauseTerm(settings, {
      clock,
      over: () => {
        this.#all = this.#all.filter((each) => each !== added);
        this.#ended(added, "Its time was over.");
      },
      remind: (words) => happened("paused", this.#pathOf(settings), words),
    });
    const added = { settings, term };
    this.#all.push(added);
    return added;
  }

  #take(path: string): Paused | undefined {
    const found = this.#all.find(({ settings }) => this.#pathOf(settings) === path);
    this.#all = this.#all.filter((each) => each !== found);
    return found;
  }

  #ended({ settings, term }: Paused, why: string): void {
    term.close();
    this.#store();
    this.#deps.happened("resumed", this.#pathOf(settings), why);
    this.#deps.changed();
  }

  #store(): void {
    const { settings } = this.#deps;
    if (this.#all.length > 0) settings.pausedFolders = this.#all.map((each) => each.settings);
    else delete settings.pausedFolders;
  }

  /** Returns where it is now. It is of what lies at its path where its own folder is gone. */
  #pathOf(settings: FolderPause): string {
    const { names } = this.#deps;
    const path = settings.node === 0 ? undefined : names.pathOf(settings.node);
    if (path === undefined) settings.node = names.nodeAt(settings.path);
    else settings.path = path;
    return settings.path;
  }
}

function isAtOrBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}
