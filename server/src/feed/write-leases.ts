// The write leases of a volume, each on a folder with all below it: its holder answers programs before the server has
// what they changed there. So nobody else is served there while one is held: whoever asks has it recalled, and waits
// until its holder has sent what touches the folder and given it up, or the holder's lease has run out. Who holds the
// root alone keeps all others out; where several work, each has the folders that it works in.
import { LIMITS, ROOT_NODE, type Change, type Clock, type Timer } from "@runnel/shared";
import { Ancestors, type PlacesOf, movesFolder } from "./ancestors.ts";
import { CONTENDED_MS, Contention } from "./contention.ts";
import type { Holder } from "./holder.ts";
import { RECALL_MS_MAX, Recall } from "./recall.ts";
import { SlowDevices } from "./slow-devices.ts";
import type { Touched } from "./touched.ts";

export interface WriteLeasesDeps {
  clock: Clock;
  /** All who follow, or did under a lease that lasts still. */
  holders(): Iterable<Holder>;
  /** Lists the folders that a node has names in, as far as changes were published. */
  placesOf: PlacesOf;
  /** Tells whether leases are given at all. */
  mayGive(): boolean;
  /** Tells whether somebody else has a lease, or a change under way. */
  isShared(holder: Holder): boolean;
  /** Called for whoever waits, now and then: whom it waits for, and until when on the boot clock at the latest. */
  sayWaiting(asker: Holder, holders: readonly Holder[], untilMs: number): void;
  /** Called when one ended because its holder could not be reached: what that has changed may come yet. */
  ranOut(holder: Holder): void;
}

/** Write lease that is held, or is about to be. */
export interface WriteLease {
  readonly folder: number;
  holder: Holder;
  /** It is known from before a restart, and perhaps given up since it was recorded. */
  isRestored: boolean;
  /** The holder has not been told of it yet. */
  isPending: boolean;
  recall: Recall | undefined;
}

/** An answer to who asks for one: had since before without a break, to be confirmed, or refused for a while. */
export type Acquired =
  | { isGranted: true; folder: number; isContinued: boolean; lease: WriteLease }
  | { isGranted: false; retryAfterMs: number };

interface Work {
  holder: Holder;
  touched(): Promise<Touched>;
}

const SAID_AFTER_MS = 200;
/** A waiting client hears of it so often: within a silence that it takes for the server's death. */
const SAID_EVERY_MS = 500;
const RETRY_MS = 1_000;
/** Time for which it is waited until all others have heard of a lease, before it is granted. */
const HEARD_WITHIN_MS = 1_000;

export class WriteLeases {
  readonly #deps: WriteLeasesDeps;
  readonly #ancestors: Ancestors;
  readonly #leases = new Set<WriteLease>();
  readonly #contention: Contention;
  /** Devices for which others waited too long when one was recalled. */
  readonly #slowDevices = new SlowDevices(RECALL_MS_MAX);
  /** Changes under way, and requests that wait. */
  readonly #works = new Set<Work>();
  /** Wakes those who wait until others have heard. */
  #heard = Promise.withResolvers<void>();
  /** Counts how often one came or went. */
  #version = 0;

  constructor(deps: WriteLeasesDeps) {
    this.#deps = deps;
    this.#ancestors = new Ancestors(deps.placesOf);
    this.#contention = new Contention(deps.clock);
  }

  /** An instance had one before a restart; it counts for as long as that one's lease. */
  restore(holder: Holder, folder: number): void {
    this.#add(holder, folder, { isRestored: true });
  }

  /** Lists those that are held now: not of a holder whose lease has run out. */
  now(): WriteLease[] {
    const nowMs = this.#deps.clock.bootMs();
    for (const lease of this.#leases) {
      const { holder } = lease;
      if (holder.hasLease(nowMs)) continue;
      this.#end(lease);
      this.#deps.ranOut(holder);
    }
    return [...this.#leases];
  }

  /** Says who holds which, for `parseRecord` after a restart. */
  get record(): string {
    return [...this.#leases].map(({ holder, folder }) => `${holder.instance}:${folder}`).join(" ");
  }

  /**
   * Finds the uppermost folder, from the root down to this one, on which an instance may have one: on the root while
   * nobody else has a lease. It is to be confirmed once it has been recorded; until then it keeps others out.
   */
  async acquire(holder: Holder, node: number): Promise<Acquired> {
    const standing = await this.#standing(node, holder);
    const nowMs = this.#deps.clock.bootMs();
    if (standing === undefined) return refused();
    const own = this.now().filter((lease) => lease.holder.instance === holder.instance);
    const had = own.find(({ folder, isRestored }) => standing.path.includes(folder) && !isRestored);
    if (had !== undefined) {
      if (had.recall !== undefined || had.isPending) return refused();
      return { isGranted: true, folder: had.folder, isContinued: true, lease: had };
    }
    const mayHave = this.#deps.mayGive() && holder.followsAll && holder.hasLease(nowMs);
    if (!mayHave || own.some(({ isRestored, recall }) => isRestored && recall !== undefined)) return refused();
    if (!this.#slowDevices.mayHoldLease(holder.device, nowMs)) return refused(CONTENDED_MS);
    if (this.#leases.size >= LIMITS.writeLeases || own.length >= LIMITS.attachmentWriteLeases) return refused();
    let retryAfterMs = RETRY_MS;
    for (const folder of standing.path) {
      retryAfterMs = this.#mayBeOn(folder, holder, standing) ? this.#contention.waitMs(folder) : RETRY_MS;
      if (retryAfterMs === 0) return this.#grant(holder, folder);
    }
    return refused(retryAfterMs);
  }

  /** Says whether one that was granted or continued is held, and nobody has asked for what is below. */
  isHeld(lease: WriteLease): boolean {
    return this.#leases.has(lease) && lease.recall === undefined;
  }

  /** A lease has been recorded. It ends at once where somebody has asked for what is below meanwhile. */
  confirm(lease: WriteLease): void {
    lease.isPending = false;
    if (lease.recall !== undefined) this.#end(lease);
  }

  /** The same instance has attached again. */
  taken(before: Holder, by: Holder): void {
    for (const lease of this.#leases) {
      if (lease.holder !== before) continue;
      lease.holder = by;
      // It may not have heard of that before its connection was lost.
      if (lease.recall !== undefined) by.sender?.recall?.(lease.folder);
    }
  }

  /** Tells a client that has just attached which folders others have, if any. */
  tell(holder: Holder): void {
    const folders = this.#foldersOfOthers(holder);
    if (folders.length > 0) this.#tell(holder, folders);
  }

  /** Called when its holder has given one up, or all with its lease. Harmless for anybody else. */
  release(holder: Holder, folder?: number): void {
    for (const lease of this.#leases)
      if (lease.holder === holder && (folder === undefined || lease.folder === folder)) this.#end(lease);
  }

  /** A client has taken note of what others have, as it was told. */
  heard(holder: Holder, number: number): void {
    holder.othersHeard = Math.max(holder.othersHeard, Math.min(number, holder.othersTold));
    this.#wake();
  }

  /** Changes were published: their author is at work, and folders may have other places. */
  published(changes: readonly Change[], committer: Holder | undefined): void {
    this.#ancestors.changed(changes);
    if (committer === undefined) return this.#movedOutside(changes);
    for (const { holder, recall } of this.#leases)
      if (recall !== undefined && holder.instance === committer.instance) recall.progressMs = this.#deps.clock.bootMs();
  }

  /** Tells whether the holder's lease may be renewed: not of one that has made others wait for too long. */
  mayRenew(holder: Holder): boolean {
    const nowMs = this.#deps.clock.bootMs();
    return [...this.#leases].every(
      (lease) => lease.holder !== holder || lease.recall?.isOverdue(nowMs, holder.termMs) !== true,
    );
  }

  isHeldByOther(asker: Holder): boolean {
    return this.now().some(({ holder }) => holder.instance !== asker.instance);
  }

  /** Tells whether one may be in the way of a request: of others, or of its own where it moves something. */
  mayBeInTheWay(asker: Holder, isMove: boolean): boolean {
    if (this.isHeldByOther(asker)) return true;
    return isMove && [...this.#leases].some(({ folder }) => folder !== ROOT_NODE);
  }

  /** Notes a change until it has been answered: nobody else gets one on what that touches. */
  works(holder: Holder, touched: Work["touched"]): Disposable {
    const work = { holder, touched };
    this.#works.add(work);
    return { [Symbol.dispose]: () => void this.#works.delete(work) };
  }

  /** Tells whether all that is touched is below folders that an instance has itself, recalled or not. */
  async isOwn(asker: Holder, { nodes, deep = [] }: Touched): Promise<boolean> {
    const own = this.now().filter(({ holder }) => holder.instance === asker.instance);
    if (own.length === 0 || nodes.length + deep.length === 0) return false;
    for (const node of [...nodes, ...deep]) {
      const above = await this.#ancestors.of([node]);
      if (!own.some(({ folder }) => above.has(folder))) return false;
    }
    return true;
  }

  /** Tells whether one is in the way now of what is touched; undefined: of anything. */
  async isInTheWay(asker: Holder, touched: Touched | undefined): Promise<boolean> {
    return (await this.#inTheWay(asker, touched)).length > 0;
  }

  /** Resolves when none is in the way of what is touched, having them recalled; undefined: of anything. */
  async shared(asker: Holder, touched?: Touched): Promise<void> {
    let inTheWay = await this.#inTheWay(asker, touched);
    if (inTheWay.length === 0) return;
    const end = this.#sayTo(asker, () => inTheWay);
    try {
      for (; inTheWay.length > 0; inTheWay = await this.#inTheWay(asker, touched))
        await Promise.all(inTheWay.map((lease) => this.#beginRecall(lease, asker).released.promise));
    } finally {
      end();
    }
  }

  close(): void {
    for (const lease of this.#leases) lease.recall?.end();
    this.#leases.clear();
  }

  /** Place of a folder, what others have and where they work, all of the same moment; undefined: it has no place. */
  async #standing(node: number, { instance }: Holder): Promise<Standing | undefined> {
    for (;;) {
      const [moves, version] = [this.#ancestors.moves, this.#version];
      const path = await this.#ancestors.path(node);
      if (path === undefined) return undefined;
      const others = [...this.#leases].filter(({ holder }) => holder.instance !== instance);
      const taken = others.map(({ folder }) => folder);
      const aboveTaken = await this.#ancestors.of(taken);
      const works = await this.#worksOfOthers(instance);
      const worked = await this.#ancestors.of(works.flatMap(({ nodes, deep = [] }) => [...nodes, ...deep]));
      const deep = new Set(works.flatMap((each) => each.deep ?? []));
      if (moves !== this.#ancestors.moves || version !== this.#version) continue;
      return { path, taken: new Set(taken), above: new Set([...aboveTaken, ...worked]), deep };
    }
  }

  /** Tells whether nobody else has what is above or below, or works there, and all others can do without it. */
  #mayBeOn(folder: number, holder: Holder, { path, taken, above, deep }: Standing): boolean {
    if (folder === ROOT_NODE && this.#deps.isShared(holder)) return false;
    const upTo = path.slice(0, path.indexOf(folder) + 1);
    if (above.has(folder) || upTo.some((each) => taken.has(each) || deep.has(each))) return false;
    const nowMs = this.#deps.clock.bootMs();
    for (const other of this.#deps.holders()) {
      // Whoever is away, or does not know of it, would go on to answer from what it knows.
      const mayHear = other.sender?.hearsOfOthers === true || other.instance === holder.instance;
      if (other.hasLease(nowMs) && !mayHear) return false;
    }
    return true;
  }

  async #grant(holder: Holder, folder: number): Promise<Acquired> {
    const lease = this.#add(holder, folder, { isPending: true });
    const isFree = !(await this.#isWorkedIn(folder, holder)) && (await this.#haveAllHeard(holder));
    const isStill = this.#leases.has(lease) && lease.recall === undefined && lease.holder === holder;
    if (isFree && isStill) {
      for (const each of this.#leases)
        if (each.isRestored && each.holder === holder && [each.folder, ROOT_NODE].includes(folder)) this.#end(each);
      return { isGranted: true, folder, isContinued: false, lease };
    }
    this.#end(lease);
    return refused();
  }

  #add(holder: Holder, folder: number, is: { isRestored?: boolean; isPending?: boolean }): WriteLease {
    const lease = { folder, holder, isRestored: false, isPending: false, recall: undefined, ...is };
    this.#leases.add(lease);
    this.#version++;
    this.#tellAll();
    return lease;
  }

  /** Somebody else changes something below a folder, or waits to. */
  async #isWorkedIn(folder: number, { instance }: Holder): Promise<boolean> {
    const works = await this.#worksOfOthers(instance);
    const below = await this.#ancestors.of([folder]);
    const above = await this.#ancestors.of(works.flatMap(({ nodes, deep = [] }) => [...nodes, ...deep]));
    return above.has(folder) || works.some(({ deep = [] }) => deep.some((node) => below.has(node)));
  }

  async #worksOfOthers(instance: string): Promise<Touched[]> {
    const others = [...this.#works].filter(({ holder }) => holder.instance !== instance);
    return Promise.all(others.map(({ touched }) => touched()));
  }

  /** Resolves when all others who have a lease know which folders others have; false when that takes too long. */
  async #haveAllHeard({ instance }: Holder): Promise<boolean> {
    const { clock, holders } = this.#deps;
    const untilMs = clock.bootMs() + HEARD_WITHIN_MS;
    const timer = clock.after(HEARD_WITHIN_MS, () => this.#wake());
    try {
      for (;;) {
        const nowMs = clock.bootMs();
        const areLeft = [...holders()].some(
          (other) => other.instance !== instance && other.hasLease(nowMs) && !hasHeard(other),
        );
        if (!areLeft) return true;
        if (nowMs >= untilMs) return false;
        await this.#heard.promise;
      }
    } finally {
      timer.cancel();
    }
  }

  #wake(): void {
    this.#heard.resolve();
    this.#heard = Promise.withResolvers();
  }

  #foldersOfOthers({ instance }: Holder): number[] {
    const others = [...this.#leases].filter(({ holder }) => holder.instance !== instance);
    return [...new Set(others.map(({ folder }) => folder))];
  }

  #tellAll(): void {
    for (const holder of this.#deps.holders()) {
      const folders = this.#foldersOfOthers(holder);
      if (folders.join() !== holder.othersFolders.join()) this.#tell(holder, folders);
    }
  }

  #tell(holder: Holder, folders: readonly number[]): void {
    if (holder.sender?.hearsOfOthers !== true) return;
    holder.othersFolders = folders;
    holder.sender.others?.(++holder.othersTold, folders);
  }

  async #inTheWay(asker: Holder, touched: Touched | undefined): Promise<WriteLease[]> {
    const leases = this.now();
    const others = leases.filter(({ holder }) => holder.instance !== asker.instance);
    if (touched === undefined || others.every(({ folder }) => folder === ROOT_NODE)) {
      const own = touched === undefined || others.length > 0 ? [] : await this.#ownInTheWay(asker, touched);
      return [...others, ...own];
    }
    const { nodes, deep = [] } = touched;
    const above = await this.#ancestors.of([...nodes, ...deep]);
    const found = new Set(others.filter(({ folder }) => above.has(folder)));
    for (const lease of deep.length === 0 ? [] : others) {
      const aboveIt = await this.#ancestors.of([lease.folder]);
      if (deep.some((node) => aboveIt.has(node))) found.add(lease);
    }
    for (const lease of await this.#ownInTheWay(asker, touched)) found.add(lease);
    return [...found].filter((lease) => this.#leases.has(lease));
  }

  /**
   * Leases of a client that moves something out of its own folder, or into it: it gives that up first, for what is
   * moved would be covered at one end and not at the other.
   */
  async #ownInTheWay({ instance }: Holder, { moves }: Touched): Promise<WriteLease[]> {
    const own = this.now().filter(({ holder, isRestored }) => holder.instance === instance && !isRestored);
    if (moves === undefined || own.length === 0) return [];
    const [from, to] = [await this.#ancestors.of([moves[0]]), await this.#ancestors.of([moves[1]])];
    const ends = [from, to].map((above) => own.filter(({ folder }) => above.has(folder)));
    return ends.every(({ length }) => length > 0) ? [] : ends.flat();
  }

  /** A program on the server has moved a folder: nobody knows any more what is below what. */
  #movedOutside(changes: readonly Change[]): void {
    for (const lease of changes.some(movesFolder) ? this.#leases : [])
      if (lease.folder !== ROOT_NODE) this.#beginRecall(lease, lease.holder);
  }

  #beginRecall(lease: WriteLease, asker: Holder): Recall {
    const { clock } = this.#deps;
    if (lease.recall === undefined) {
      lease.recall = new Recall(
        clock,
        () => lease.holder.leaseUntilMs - clock.bootMs(),
        () => void this.now(),
      );
      if (asker.instance !== lease.holder.instance) this.#contention.recalled(lease.folder);
      if (!lease.isPending) lease.holder.sender?.recall?.(lease.folder);
    }
    if (asker.device !== lease.holder.device) lease.recall.othersSinceMs ??= clock.bootMs();
    return lease.recall;
  }

  #end(lease: WriteLease): void {
    if (!this.#leases.delete(lease)) return;
    this.#version++;
    const { recall, holder } = lease;
    if (recall?.othersSinceMs !== undefined) {
      const toMs = this.#deps.clock.bootMs();
      this.#slowDevices.waited(holder.device, { fromMs: recall.othersSinceMs, toMs, termMs: RECALL_MS_MAX });
    }
    recall?.end();
    this.#tellAll();
  }

  #sayTo(asker: Holder, leases: () => readonly WriteLease[]): () => void {
    const { clock, sayWaiting } = this.#deps;
    let timer: Timer | undefined;
    const say = (): void => {
      this.now();
      const held = leases().filter((lease) => this.#leases.has(lease));
      const holders = [...new Set(held.map(({ holder }) => holder))];
      if (holders.length > 0) sayWaiting(asker, holders, Math.max(...holders.map(({ leaseUntilMs }) => leaseUntilMs)));
      timer = clock.after(SAID_EVERY_MS, say);
    };
    timer = clock.after(SAID_AFTER_MS, say);
    return () => timer?.cancel();
  }
}

interface Standing {
  /** From the root down to the folder that was asked for. */
  path: readonly number[];
  /** Folders that others have. */
  taken: ReadonlySet<number>;
  /** All that is above them, and above what others change; they themselves too. */
  above: ReadonlySet<number>;
  /** Folders that others change something of with all below. */
  deep: ReadonlySet<number>;
}

function refused(retryAfterMs = RETRY_MS): { isGranted: false; retryAfterMs: number } {
  return { isGranted: false, retryAfterMs };
}

/** Says whether one knows all that it was told of the leases of others. */
function hasHeard({ sender, othersHeard, othersTold }: Holder): boolean {
  return sender?.hearsOfOthers === true && othersHeard === othersTold;
}

/** Returns the folders on which an instance had write leases, as a record says it. */
export function parseRecord(record: string, instance: string): number[] {
  return record
    .split(" ")
    .map((each) => each.split(":"))
    .flatMap(([holder, folder]) => (holder === instance ? [Number(folder)] : []));
}
