// Shows the running server to pages that follow it: a state, then what changes, once a second. A state is worked out
// once for all who follow, and not at all while nobody does. A page that does not read is sent nothing more until it
// does: changes wait as the state that they lead to.
import {
  type Call,
  changesBetween,
  type Clock,
  pause,
  RunnelError,
  type ViewChanges,
  type ViewItem,
  type ViewPart,
  type ViewState,
} from "@runnel/shared";
import type { Engines } from "../engines.ts";
import type { Overview, SomeRows, VolumeRow } from "../live/rows.ts";

export const VIEW_EVERY_MS = 1_000;
const FOLLOWERS_MAX = 256;
/** Items of a list that are shown. */
const ITEMS_MAX = 10_000;
/** Bytes of items, as JSON in UTF-8, that a part brings, so that the first one comes soon. */
const PART_BYTES = 24 * 1024;

export const VIEW_LISTS = ["volumes", "connections", "openFiles", "leases", "recalls", "transfers"] as const;
export type ViewList = (typeof VIEW_LISTS)[number];

/** The overview is for admins. */
export type ViewHead = (Overview & { people: number }) | null;
type State = ViewState<ViewHead, ViewList>;
export type ConsolePart = ViewPart<ViewHead, ViewList>;

export interface ViewsDeps {
  clock: Clock;
  engines: Pick<Engines, "live" | "overview">;
  people: { list(): readonly unknown[] };
}

export class Views {
  readonly #deps: ViewsDeps;
  readonly #made = new Map<string, { made: Promise<unknown>; atMs: number }>();
  #followers = 0;

  constructor(deps: ViewsDeps) {
    this.#deps = deps;
  }

  /** Sends the overview and lists, and their changes, until the call is cancelled. @throws RunnelError Busy */
  follow(wants: readonly ViewList[], call: Call<ConsolePart>): Promise<void> {
    return this.#follow(call, async () => {
      const lists = await Promise.all(wants.map(async (list) => [list, await this.#list(list)] as const));
      return stateOf(await this.#head(), lists);
    });
  }

  /** Likewise volumes alone, as `shown` leaves them. */
  followVolumes(shown: (rows: readonly VolumeRow[]) => VolumeRow[], call: Call<ConsolePart>): Promise<void> {
    return this.#follow(call, async () => stateOf(null, [["volumes", fitted(shown(await this.#volumes()))]]));
  }

  async #follow(call: Call<ConsolePart>, state: () => Promise<State>): Promise<void> {
    if (this.#followers >= FOLLOWERS_MAX)
      throw new RunnelError("Busy", "view", "Too many pages look at the server. Close some.");
    this.#followers++;
    try {
      let now = await state();
      let sent: State = { ...now, lists: firstOf(now.lists) };
      await call.part({ snapshot: sent });
      while (!call.signal.aborted) {
        const changes = changesBetween(sent, now);
        for (const part of changes === undefined ? [] : inParts(changes)) {
          if (call.signal.aborted) return;
          await call.part({ changes: part });
        }
        sent = now;
        await pause(this.#deps.clock, VIEW_EVERY_MS, call.signal);
        if (!call.signal.aborted) now = await state();
      }
    } finally {
      this.#followers--;
    }
  }

  #head(): Promise<ViewHead> {
    return this.#once("head", async () => {
      const { engines, people } = this.#deps;
      return { ...(await engines.overview.overview(await this.#volumes())), people: people.list().length };
    });
  }

  #volumes(): Promise<VolumeRow[]> {
    return this.#once("volumes", () => this.#deps.engines.overview.volumes());
  }

  #list(list: ViewList): Promise<SomeRows<ViewItem>> {
    const { live } = this.#deps.engines;
    switch (list) {
      case "volumes":
        return this.#volumes().then(fitted);
      case "connections":
        return this.#once(list, async () => fitted(live.connections()));
      case "openFiles":
        return this.#once(list, () => live.openFiles(ITEMS_MAX));
      case "leases":
        return this.#once(list, async () => fitted(live.leases()));
      case "recalls":
        return this.#once(list, () => live.recalls());
      case "transfers":
        return this.#once(list, () => live.transfers(ITEMS_MAX));
    }
  }

  /** Makes something at most once in the interval, however many follow. */
  #once<T>(what: string, make: () => Promise<T>): Promise<T> {
    const atMs = this.#deps.clock.bootMs();
    const known = this.#made.get(what);
    if (known !== undefined && atMs - known.atMs < VIEW_EVERY_MS) return known.made as Promise<T>;
    const made = make();
    this.#made.set(what, { made, atMs });
    return made;
  }
}

function fitted<Row>(rows: readonly Row[]): SomeRows<Row> {
  return { rows: rows.slice(0, ITEMS_MAX), omitted: Math.max(0, rows.length - ITEMS_MAX) };
}

function stateOf(head: ViewHead, lists: readonly (readonly [ViewList, SomeRows<ViewItem>])[]): State {
  const state: State = { head, lists: {}, omitted: {} };
  for (const [list, { rows, omitted }] of lists) {
    state.lists[list] = rows;
    if (omitted > 0) state.omitted[list] = omitted;
  }
  return state;
}

/** Returns the items that have a place in a first part, which the lists share. */
function firstOf(lists: State["lists"]): State["lists"] {
  const all = Object.entries(lists);
  return Object.fromEntries(
    all.map(([list, items]) => [list, pieces(items, PART_BYTES / all.length).next().value ?? []]),
  );
}

/** Splits changes, so that none is long. */
function* inParts({ lists, ...rest }: ViewChanges<ViewHead, ViewList>): Generator<ViewChanges<ViewHead, ViewList>> {
  if (Object.keys(rest).length > 0) yield { ...rest, lists: {} };
  for (const [list, { put, gone }] of Object.entries(lists)) {
    for (const piece of pieces(gone, PART_BYTES)) yield { lists: { [list]: { put: [], gone: piece } } };
    for (const piece of pieces(put, PART_BYTES)) yield { lists: { [list]: { put: piece, gone: [] } } };
  }
}

/** Splits items, or keys, into pieces of so many bytes, but of one at least. */
function* pieces<Piece>(items: readonly Piece[], bytesMax: number): Generator<Piece[]> {
  let piece: Piece[] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (piece.length > 0 && bytes + itemBytes > bytesMax) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(item);
    bytes += itemBytes;
  }
  if (piece.length > 0) yield piece;
}
