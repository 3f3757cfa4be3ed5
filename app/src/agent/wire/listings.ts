// Reads the tree from the server into the replica: one folder, the whole volume, single nodes; and find, which the
// server runs.
import type { Channel, Entry, FindItem, NodeState, Predicate } from "@runnel/shared";
import { FIND_ITEMS, ROOT_NODE, RunnelError, check, checkResult, nextTurn } from "@runnel/shared";
import type { FoundEntry } from "../mount-status.ts";
import type { Replica } from "../replica/replica.ts";
import type { Session } from "./session.ts";

interface ListingsDeps {
  session: Session;
  replica: Replica;
  /** Called when another part of a folder that a program waits for has come. */
  progress(folder: number): void;
}

export class Listings {
  private readonly deps: ListingsDeps;
  /** Counts how often all listings were void. */
  private voided = 0;

  constructor(deps: ListingsDeps) {
    this.deps = deps;
  }

  /** Lists a folder and follows it. @throws Unreachable after a silence; NotFound. */
  async list(folder: number): Promise<void> {
    await this.deps.session.lineIsThere();
    this.deps.session.mustRespond();
    while (!(await this.take(folder, false)));
  }

  /**
   * Lists and follows the whole volume; `asked`: the listing that was asked for with the attachment. `rootListed`: the
   * root, which comes first, is there.
   */
  async listAll(asked: Channel | undefined, rootListed: () => void): Promise<void> {
    let isTaken = await this.take(ROOT_NODE, true, asked, rootListed);
    while (!isTaken) isTaken = await this.take(ROOT_NODE, true, undefined, rootListed);
    this.deps.replica.setWhole(true);
  }

  /** The server follows nothing of what it has listed any more: listings that are under way begin anew. */
  listAgain(): void {
    this.voided++;
  }

  /** Reads the states of nodes. @throws Unreachable after a silence. */
  async stat(nodes: readonly number[]): Promise<(NodeState | null)[]> {
    await this.deps.session.lineIsThere();
    const answer = checkResult("stat", await this.deps.session.ask("stat", { nodes, names: [] }));
    for (const state of answer.nodes) if (state !== null) this.deps.replica.putState(answer.asOf, state);
    return answer.nodes;
  }

  /** @returns false when it was void before its end: nothing of it is kept from then on. */
  private async take(folder: number, isDeep: boolean, asked?: Channel, rootListed?: () => void): Promise<boolean> {
    const { voided } = this;
    const channel = asked ?? this.deps.session.open("find", { folder, isDeep, follow: true }, true);
    // A program waits for a single folder; nobody does for the whole volume.
    const next = (): Promise<FindItem[] | undefined> =>
      isDeep ? nextItems(channel) : this.deps.session.whileAlive(nextItems(channel), "list");
    try {
      for (let items = await next(); items !== undefined; items = await next()) {
        if (voided !== this.voided) return false;
        for (const [listed, asOf, isLast, entries] of items) {
          this.deps.replica.putListing(listed, asOf, entries.map(toEntry), isLast);
          if (isLast && listed === ROOT_NODE) rootListed?.();
        }
        if (!isDeep) this.deps.progress(folder);
      }
      return voided === this.voided;
    } finally {
      channel.cancel();
    }
  }
}

/** Yields what matches below the root, as the server finds it. */
export async function* findBelow(session: Session, predicate: Predicate): AsyncGenerator<FoundEntry> {
  const channel = session.open("find", { folder: ROOT_NODE, isDeep: true, follow: false, predicate }, true);
  try {
    for (let items = await nextItems(channel); items !== undefined; items = await nextItems(channel))
      for (const item of items) yield* foundIn(item);
  } finally {
    channel.cancel();
  }
}

function* foundIn([, , , entries, folder = ""]: FindItem): Generator<FoundEntry> {
  for (const [name, state] of entries) {
    yield {
      path: folder === "" ? name : `${folder}/${name}`,
      type: state.type,
      sizeBytes: state.sizeBytes,
      mtimeMs: Number(state.mtimeNs / 1_000_000n),
    };
  }
}

async function nextItems(channel: Channel): Promise<FindItem[] | undefined> {
  // All else gets a turn between two messages: those of a large folder have come together.
  await new Promise<void>(nextTurn);
  const message = await channel.next();
  if (message === undefined) return undefined;
  if (!Array.isArray(message)) throw new RunnelError("Invalid", "find", "A listing has the wrong form.");
  return check(FIND_ITEMS, message, "find item");
}

function toEntry([name, state]: [string, NodeState]): Entry {
  return { name, state };
}
