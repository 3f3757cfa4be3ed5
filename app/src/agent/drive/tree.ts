// The tree as programs see it: the replica, with what this client has made and the server has not yet answered laid over it. Says how a name
// or node stands, listing what is unknown; whoever asks has made sure that the replica is current.
import type { Entry, NodeState } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { DriveEntry } from "@runnel/native/drive";
import type { Making } from "../wire/operations.ts";
import type { Replica } from "../replica/replica.ts";

export interface Owner {
  uid: number;
  gid: number;
}

/** A content of a file that the server does not have, as programs here see it. */
export type UnsentState = Pick<NodeState, "version" | "sizeBytes" | "mtimeNs" | "ctimeNs">;

/** Files whose make was refused and that a program may still have open. */
const REFUSED_MAX = 1000;

/** A path each. */
const LAST_PATHS_MAX = 10_000;

interface Made {
  folder: number;
  name: string;
  state: NodeState;
  making: Making;
}

export class Tree {
  private readonly replica: Replica;
  private readonly list: (folder: number) => Promise<void>;
  private readonly statNodes: (nodes: number[]) => Promise<(NodeState | null)[]>;
  /** Files made here whose make is not answered yet. */
  private readonly made = new Map<number, Made>();
  private readonly madeNames = new Map<string, number>();
  /** Paths of files that could not be made, or have lost their name: programs may still have them open. */
  private readonly lastPaths = new Map<number, string>();
  private readonly refused = new Map<number, RunnelError>();
  private readonly listing = new Map<number, Promise<void>>();
  /** A made file whose name existed: its id stands for that node, as a create without O_EXCL asks. */
  private readonly bound = new Map<number, number>();
  /** Times that folders have from makes which are not answered yet. */
  private readonly touched = new Map<number, { makes: number; timeNs: bigint }>();
  private readonly owner: Owner | undefined;
  /** Returns what of a file could not be sent, and is shown. */
  unsentOf: (state: NodeState) => UnsentState | undefined = () => undefined;

  /** `owner`: whom everything is shown to belong to, whatever is stored. */
  constructor(
    replica: Replica,
    ask: { list(folder: number): Promise<void>; stat(nodes: number[]): Promise<(NodeState | null)[]> },
    owner?: Owner,
  ) {
    this.replica = replica;
    this.owner = owner;
    this.list = ask.list;
    this.statNodes = ask.stat;
  }

  /** The server's id for a node this client may know under an id of its own. */
  real(node: number): number {
    return this.bound.get(node) ?? node;
  }

  bind(own: number, real: number): void {
    this.bound.set(own, real);
  }

  addMade(folder: number, name: string, state: NodeState, making: Making): void {
    this.made.set(state.node, { folder, name, state, making });
    this.madeNames.set(key(folder, name), state.node);
    this.touched.set(folder, { makes: (this.touched.get(folder)?.makes ?? 0) + 1, timeNs: state.mtimeNs });
  }

  /** A folder just made is empty as of that seq: nothing to list. Only while the whole volume is followed. */
  madeFolder(node: number, seq: number): void {
    if (this.replica.facts()?.isWhole === true) this.replica.putListing(node, seq, [], true);
  }

  /** The server has answered (the replica knows it) or refused. */
  dropMade(node: number): void {
    const made = this.made.get(node);
    if (made === undefined) return;
    if (this.replica.node(node) === undefined) this.noteLastPath(node, this.pathOf(node));
    this.made.delete(node);
    if (this.madeNames.get(key(made.folder, made.name)) === node) this.madeNames.delete(key(made.folder, made.name));
    const touched = this.touched.get(made.folder);
    if (touched !== undefined && --touched.makes === 0) this.touched.delete(made.folder);
  }

  /** The server refused to make it: what is written to it can go nowhere. */
  refuse(node: number, error: RunnelError): void {
    this.refused.set(node, error);
    const [oldest] = this.refused.keys();
    if (this.refused.size > REFUSED_MAX && oldest !== undefined) this.refused.delete(oldest);
  }

  refusalOf(node: number): RunnelError | undefined {
    return this.refused.get(node);
  }

  /** Without asking anybody. */
  known(node: number): NodeState | undefined {
    return this.unheard(node)?.state ?? this.replica.node(this.real(node));
  }

  /** A name has been taken from a node: whoever has that open goes on under the path that it had. */
  lostName(folder: number, name: string, node: number): void {
    const parent = this.pathOf(folder);
    this.noteLastPath(node, parent === "" ? name : `${parent}/${name}`);
  }

  /** Returns the operation that makes a node, while it is not answered. */
  makingOf(node: number): Making | undefined {
    return this.made.get(node)?.making;
  }

  /** Lists the folder when the name is unknown. @returns undefined when it is absent. @throws Unreachable when it is unknown and cannot be asked. */
  async lookup(folder: number, name: string): Promise<NodeState | undefined> {
    const made = this.unheard(this.madeNames.get(key(folder, name)));
    if (made !== undefined) return made.state;
    let known = this.replica.lookup(folder, name);
    if (known.is === "unknown") {
      await this.fill(folder);
      known = this.replica.lookup(folder, name);
    }
    if (known.is === "unknown") throw new RunnelError("Unknown", "lookup", "What this folder holds is not known now.");
    return known.is === "bound" ? known.state : undefined;
  }

  /** Returns what was made here, until the feed has brought it: from then on the replica knows better, though the answer may still be under way. */
  private unheard(node: number | undefined): Made | undefined {
    return node === undefined || this.replica.node(node) !== undefined ? undefined : this.made.get(node);
  }

  /** Returns what a name is bound to, without asking anybody; `otherwise` where that is not known. */
  boundTo(folder: number, name: string, otherwise: NodeState | undefined): NodeState | undefined {
    const made = this.unheard(this.madeNames.get(key(folder, name)));
    if (made !== undefined) return made.state;
    const known = this.replica.lookup(folder, name);
    return known.is === "unknown" ? otherwise : known.is === "bound" ? known.state : undefined;
  }

  /** Returns whether a node has a name, as far as is known here. */
  isNamed(node: number): boolean {
    const state = this.known(node);
    return state !== undefined && state.nlink > 0;
  }

  /** @throws NotFound for a node that is not there; Unreachable when it is unknown and cannot be asked. */
  async node(node: number): Promise<NodeState> {
    const made = this.unheard(node);
    if (made !== undefined) return made.state;
    const real = this.real(node);
    const known = this.replica.node(real);
    if (known !== undefined) return known;
    await this.statNodes([real]);
    const asked = this.replica.node(real);
    if (asked === undefined) throw new RunnelError("NotFound", "look up node", "This file or folder is gone.");
    return asked;
  }

  /** Asks the server how a node is now, whatever is known here. @returns undefined when there is no such node. @throws Unreachable; Unavailable */
  async asked(node: number): Promise<NodeState | undefined> {
    const [state] = await this.statNodes([this.real(node)]);
    return state ?? undefined;
  }

  /** Whole, in name order. */
  async entries(folder: number): Promise<Entry[]> {
    let listing = this.replica.listing(folder);
    if (listing === undefined) {
      await this.fill(folder);
      listing = this.replica.listing(folder);
    }
    if (listing === undefined) throw new RunnelError("Unknown", "list", "What this folder holds is not known now.");
    const entries = [...listing.entries];
    for (const made of this.made.values()) {
      if (this.unheard(made.state.node) === undefined) continue;
      if (made.folder !== folder || this.madeNames.get(key(folder, made.name)) !== made.state.node) continue;
      if (!entries.some((entry) => entry.name === made.name)) entries.push({ name: made.name, state: made.state });
    }
    return entries;
  }

  /** A state as programs are to see it, under the id that the kernel knows. */
  entry(state: NodeState, node: number = state.node): DriveEntry {
    const { type, mode, nlink, rdev, target, xattrSeq } = state;
    const unsent = type === "file" ? this.unsentOf(state) : undefined;
    const { version, sizeBytes } = unsent ?? state;
    const { uid, gid } = this.owner ?? state;
    const timeNs = type === "folder" ? this.touched.get(state.node)?.timeNs : undefined;
    const isTouched = timeNs !== undefined && timeNs > state.ctimeNs;
    const mtimeNs = isTouched ? timeNs : (unsent ?? state).mtimeNs;
    const ctimeNs = isTouched ? timeNs : (unsent ?? state).ctimeNs;
    const xattrs = xattrSeq ?? 0;
    return { node, type, mode, uid, gid, sizeBytes, mtimeNs, ctimeNs, nlink, rdev, version, target, xattrs };
  }

  /** Returns the place of a node, as far as is known here: by its first name. */
  placeOf(node: number): { folder: number; name: string } | undefined {
    const made = this.unheard(node);
    if (made !== undefined) return { folder: this.real(made.folder), name: made.name };
    return this.replica.namesOf(this.real(node))[0];
  }

  pathOf(node: number): string {
    const made = this.made.get(node);
    if (made !== undefined) {
      const parent = this.replica.pathOf(made.folder);
      return parent === undefined || parent === "" ? made.name : `${parent}/${made.name}`;
    }
    const real = this.real(node);
    return this.replica.pathOf(real) ?? this.lastPaths.get(node) ?? this.lastPaths.get(real) ?? "";
  }

  /** Remembers the path under which what a program writes to it is to be kept, or named. */
  private noteLastPath(node: number, path: string): void {
    this.lastPaths.delete(node);
    this.lastPaths.set(node, path);
    const [oldest] = this.lastPaths.keys();
    if (this.lastPaths.size > LAST_PATHS_MAX && oldest !== undefined) this.lastPaths.delete(oldest);
  }

  /** Lists a folder; whoever wants the same one shares the listing. */
  private async fill(folder: number): Promise<void> {
    let listing = this.listing.get(folder);
    if (listing === undefined) {
      listing = this.list(folder).finally(() => this.listing.delete(folder));
      this.listing.set(folder, listing);
    }
    await listing;
  }
}

function key(folder: number, name: string): string {
  return `${folder}/${name}`;
}
