// A client that has announced itself to its colleagues, and what it has.
import { type ChunkSpan, type ColleaguePlace, LIMITS, type VersionId } from "@runnel/shared";
import { isSameNetwork } from "./networks.ts";

export interface ColleagueListener {
  /** A device has lost its right. */
  shutOut(key: Uint8Array): void;
  /** There are colleagues now who can be reached, or none any more. */
  colleagues(areThere: boolean): void;
}

export interface MemberFacts {
  /** Id of the device; "" where devices are not known. */
  device: string;
  /** Told to others: the device's name. */
  name: string;
  /** Address as the server sees it. */
  address: string;
}

export function keyOf({ node, seq }: VersionId): string {
  return `${node}:${seq}`;
}

export class Member {
  readonly facts: MemberFacts;
  readonly listener: ColleagueListener;
  place: ColleaguePlace;
  /** Name of its network, where whoever runs the server names one that it is in. */
  network: string | undefined;
  /** Number by which hints name it at this place. */
  number: number;
  /** Numbers of others that it was told who they are. */
  readonly knows = new Set<number>();
  /** Count of those whom it may meet, and who listen. */
  others = 0;
  /** The version announced last comes last. */
  readonly #has = new Map<string, readonly ChunkSpan[]>();
  #spans = 0;

  constructor(facts: MemberFacts, listener: ColleagueListener, place: ColleaguePlace, number: number) {
    this.facts = facts;
    this.listener = listener;
    this.place = place;
    this.number = number;
  }

  get keyText(): string {
    return Buffer.from(this.place.key).toString("base64url");
  }

  get listens(): boolean {
    return this.place.port !== 0;
  }

  /** Sets what it has of a version. @returns the keys of versions that had to go. */
  setHas(version: string, spans: readonly ChunkSpan[]): string[] {
    this.#forget(version);
    if (spans.length === 0) return [];
    this.#has.set(version, spans);
    this.#spans += spans.length;
    const forgotten: string[] = [];
    for (const oldest of this.#has.keys()) {
      if (this.#has.size <= LIMITS.announcedVersions && this.#spans <= LIMITS.announcedSpans) break;
      this.#forget(oldest);
      forgotten.push(oldest);
    }
    return forgotten;
  }

  #forget(version: string): void {
    this.#spans -= this.#has.get(version)?.length ?? 0;
    this.#has.delete(version);
  }

  has(version: string): readonly ChunkSpan[] {
    return this.#has.get(version) ?? [];
  }

  versions(): Iterable<string> {
    return this.#has.keys();
  }

  /** They may meet: on one network, or where both want anybody. */
  mayMeet({ facts, place, network }: Member): boolean {
    const isNamed = this.network !== undefined || network !== undefined;
    if (isNamed ? this.network === network : isSameNetwork(this.facts.address, facts.address)) return true;
    return this.place.reach === "everyone" && place.reach === "everyone";
  }
}
