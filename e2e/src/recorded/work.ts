// Work of the programs of a recorded run: a few names that all of them share, and again and again a look at what
// somebody else has just changed.
import { setTimeout as pause } from "node:timers/promises";
import type { SeededRandom } from "@runnel/shared";
import { type Call, folderOf, isChange } from "../consistency/check/history.ts";
import type { Asked, RecordedClient } from "./recorded-client.ts";

const FOLDERS = ["", "d/", "e/"];
const NAMES = ["a", "b", "c", "f", "g"];
const SIZES = [40, 300, 300, 5_000, 30_000];
type Doing = Call["kind"] | "newest" | "edit" | "save";

/** Shares in a hundred; the rest are renames. */
const SHARES: readonly (readonly [number, Doing])[] = [
  [36, "newest"],
  [44, "read"],
  [50, "list"],
  [54, "look"],
  [74, "write"],
  [80, "edit"],
  [85, "save"],
  [90, "remove"],
  [92, "make"],
  [94, "create"],
  [96, "link"],
];
/**
 * Shares of readers, which go on while others wait for a server that is silent: they look for what they have not seen
 * only when that is news.
 */
const READER_SHARES: readonly (readonly [number, Doing])[] = [
  [85, "newest"],
  [95, "list"],
  [100, "look"],
];
/** Kinds of programs; one that lists needs no contents. */
export type Habit = "changes" | "reads" | "lists";
/** Time for which somebody who looks for what is new waits for it. */
const NEWS_MS = 300;
const BREATH_MS = 40;
/** At times: a name that nobody touches for a while is kept by kernels. */
const REST_MS = 2_500;
const REST_SHARE = 0.04;
const SYNCED_SHARE = 0.2;

/** Changes that clients are told are done, as it happens. */
export class News {
  private readonly waiting = new Set<(call: Call) => void>();

  tell(call: Call): void {
    for (const told of this.waiting) told(call);
  }

  /** The next change of another client, or undefined when there is none for a while. */
  async next(client: string): Promise<Call | undefined> {
    const { promise, resolve } = Promise.withResolvers<Call | undefined>();
    const told = (call: Call): void => {
      if (call.client !== client && isChange(call.kind) && call.outcome === "ok") resolve(call);
    };
    const late = setTimeout(() => resolve(undefined), NEWS_MS);
    this.waiting.add(told);
    const call = await promise;
    clearTimeout(late);
    this.waiting.delete(told);
    return call;
  }
}

/** A program at work. */
export class Work {
  private readonly client: RecordedClient;
  private readonly news: News;
  private readonly random: SeededRandom;
  private readonly habit: Habit;
  /** No two programs have the same. */
  private readonly name: string;
  private writes = 0;

  constructor(client: RecordedClient, name: string, news: News, random: SeededRandom, habit: Habit) {
    this.client = client;
    this.name = name;
    this.news = news;
    this.random = random;
    this.habit = habit;
  }

  async until(isOver: () => boolean): Promise<void> {
    const { random } = this;
    while (!isOver()) {
      await this.step();
      await pause(random.below(random.coin(REST_SHARE) ? REST_MS : BREATH_MS));
    }
  }

  private async step(): Promise<void> {
    const { random } = this;
    const share = random.below(100);
    const shares = this.habit === "changes" ? SHARES : READER_SHARES;
    const kind = shares.find(([below]) => share < below)?.[1] ?? "rename";
    const path = this.path();
    if (kind === "newest") await this.lookAtNewest();
    else if (kind === "list") await this.call({ kind, path: this.folder() });
    else if (kind === "make") await this.call({ kind, path: random.coin() ? "d" : "e" });
    else if (kind === "write") await this.write(path);
    else if (kind === "edit") await this.call({ kind: "write", path, stamp: this.stamp() });
    else if (kind === "save") await this.save(path);
    else if (kind === "rename" || kind === "link") {
      const toPath = this.path();
      if (toPath !== path) await this.call({ kind, path, toPath });
    } else await this.call({ kind, path });
  }

  private async lookAtNewest(): Promise<void> {
    const changed = await this.news.next(this.client.name);
    if (changed === undefined) return;
    const path = changed.toPath ?? changed.path;
    // Looks, too, if the name that it had is gone, and what the folder shows.
    if (this.habit !== "lists" && this.random.coin(0.7)) await this.call({ kind: "read", path });
    else if (this.habit !== "lists" && changed.toPath !== undefined && this.random.coin())
      await this.call({ kind: "read", path: changed.path });
    else await this.call({ kind: "list", path: folderOf(path) });
  }

  private async save(path: string): Promise<void> {
    const temp = `${path}.${this.name}`;
    const { outcome } = await this.write(temp);
    if (outcome === "ok") await this.call({ kind: "rename", path: temp, toPath: path });
  }

  private write(path: string): Promise<Call> {
    const sizeBytes = SIZES[this.random.below(SIZES.length)] ?? 0;
    const isSynced = this.random.coin(SYNCED_SHARE);
    return this.call({ kind: "write", path, sizeBytes, stamp: this.stamp(), isSynced });
  }

  private async call(asked: Asked): Promise<Call> {
    const call = await this.client.call(asked);
    this.news.tell(call);
    return call;
  }

  private stamp(): string {
    return `${this.name} ${++this.writes}`;
  }

  private folder(): string {
    return FOLDERS[this.random.below(FOLDERS.length)] ?? "";
  }

  private path(): string {
    return `${this.folder()}${NAMES[this.random.below(NAMES.length)] ?? ""}`;
  }
}
