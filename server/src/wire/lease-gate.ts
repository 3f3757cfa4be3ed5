// Lets the requests of an attachment go on once no write lease is in their way ([W181]). Changes keep their order, but
// for those below folders that the attachment has itself: others may wait for them, and they wait for nobody.
import type { RequestOf, VolumeRequestName } from "@runnel/shared";
import { REQUESTS, nextTurn } from "@runnel/shared";
import type { Holder } from "../feed/holder.ts";
import type { Touched } from "../feed/touched.ts";
import type { Volume } from "../volume/volume.ts";
import { type References, touchedBy } from "./touched-by.ts";

/** A request at the gate; ends when it has been answered. */
export interface Entry extends Disposable {
  /** Resolves when it may go on; undefined: at once. */
  passed: Promise<void> | undefined;
}

export interface LeaseGateDeps {
  volume: Volume;
  instance: string;
  holder(): Holder;
  /** The client is told which folders others have: what it lists below them it does not take for current. */
  hearsOfOthers(): boolean;
}

interface Change {
  n: number;
  after?: readonly number[] | undefined;
}

const FREE: Entry = { passed: undefined, [Symbol.dispose]: () => undefined };

export class LeaseGate {
  readonly #deps: LeaseGateDeps;
  /** Ends when the changes before have been looked at, and how many have not. */
  #turn: Promise<unknown> = Promise.resolve();
  #inTurn = 0;
  /** Ends when the changes that wait for leases have gone on. */
  #held: Promise<unknown> | undefined;
  /** Changes that wait here for leases. */
  readonly #waiting = new Set<number>();
  /** Folders in which changes under way make something, by their numbers. */
  readonly #makes = new Map<number, number>();

  constructor(deps: LeaseGateDeps) {
    this.#deps = deps;
  }

  enter<Name extends VolumeRequestName>(name: Name, request: RequestOf<Name>): Entry {
    const { volume, holder, hearsOfOthers } = this.#deps;
    const { writeLeases } = volume.feed;
    const found = touchedBy(name, request);
    if (found === undefined) return FREE;
    const isListing = "follow" in request && request.follow && request.isDeep;
    const references = isListing && !hearsOfOthers() ? { ...found, deep: found.nodes } : found;
    const touched = (): Promise<Touched> => this.#touched(references);
    if (REQUESTS[name].right !== "write" || !("n" in request)) {
      if (!writeLeases.isHeldByOther(holder())) return FREE;
      return { ...FREE, passed: touched().then((each) => writeLeases.shared(holder(), each)) };
    }
    const change: Change = request;
    const work = writeLeases.works(holder(), touched);
    const [folder] = references.nodes;
    if (name === "make" && folder !== undefined) this.#makes.set(change.n, folder);
    const isFree = this.#inTurn + this.#waiting.size === 0;
    const passed =
      isFree && !writeLeases.mayBeInTheWay(holder(), references.moves !== undefined)
        ? undefined
        : this.#pass(change, touched);
    return {
      passed,
      [Symbol.dispose]: () => {
        work[Symbol.dispose]();
        this.#makes.delete(change.n);
      },
    };
  }

  async #pass(change: Change, touched: () => Promise<Touched>): Promise<void> {
    const { volume, holder } = this.#deps;
    const { writeLeases } = volume.feed;
    this.#inTurn++;
    const looked = this.#turn.then(async () => {
      try {
        const each = await touched();
        const isAfter = change.after?.some((n) => this.#waiting.has(n)) === true;
        const mayPass = this.#held === undefined || (!isAfter && (await writeLeases.isOwn(holder(), each)));
        if (mayPass && !(await writeLeases.isInTheWay(holder(), each))) return undefined;
        return { waits: this.#hold(change, touched) };
      } finally {
        // Changes that are let go on are under way by then.
        nextTurn(() => this.#inTurn--);
      }
    });
    this.#turn = looked.catch(() => undefined);
    await (
      await looked
    )?.waits;
  }

  /** Looks anew at what it touches when those before it have gone on: that may be elsewhere then. */
  async #hold({ n }: Change, touched: () => Promise<Touched>): Promise<void> {
    const { volume, holder } = this.#deps;
    const before = this.#held ?? Promise.resolve();
    this.#waiting.add(n);
    const waits = before.then(async () => volume.feed.writeLeases.shared(holder(), await touched()));
    const held = waits
      .catch(() => undefined)
      .finally(() => {
        this.#waiting.delete(n);
        if (this.#held === held) this.#held = undefined;
      });
    this.#held = held;
    await waits;
  }

  async #touched({ nodes, deep = [], names = [], deepNames = [], moves }: References): Promise<Touched> {
    const bound = await this.#boundTo(names);
    const deepBound = await this.#boundTo(deepNames);
    const found = {
      nodes: [...(await this.#resolved(nodes)), ...bound],
      deep: [...(await this.#resolved(deep)), ...deepBound],
    };
    if (moves === undefined) return found;
    const [[from], [to]] = [await this.#resolved([moves[0]]), await this.#resolved([moves[1]])];
    return from === undefined || to === undefined ? found : { ...found, moves: [from, to] };
  }

  /** Lists the nodes that names are bound to, with the folders that they are in. */
  async #boundTo(names: readonly (readonly [folder: number, name: string])[]): Promise<number[]> {
    const nodes: number[] = [];
    for (const [folder, name] of names) {
      const [at] = await this.#resolved([folder]);
      if (at === undefined) continue;
      const bound = await this.#deps.volume.meta.lookup(at, name);
      nodes.push(at, ...(bound === undefined ? [] : [bound.node]));
    }
    return nodes;
  }

  /** A node that an operation under way makes is where it makes it; a result that is not known touches nothing yet. */
  async #resolved(references: readonly number[]): Promise<number[]> {
    const nodes: number[] = [];
    for (const reference of references) {
      if (reference >= 0) {
        nodes.push(reference);
        continue;
      }
      const folder = this.#makes.get(-reference);
      if (folder !== undefined) nodes.push(...(await this.#resolved([folder])));
      else {
        const stored = await this.#deps.volume.meta.result(this.#deps.instance, -reference);
        if (stored !== undefined) nodes.push(stored.result.node);
      }
    }
    return nodes;
  }
}
