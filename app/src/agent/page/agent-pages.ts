// The agent's pages, while any is asked for: the door is opened for the first one, and what it needs is loaded only
// then.
import { type CallSchemas, type CallTable, RunnelError } from "@runnel/shared";
import type { z } from "zod";
import type { Download } from "./downloads.ts";
import type { PageDoor, PageDoorSettings } from "./page-door.ts";

/** A page that a person may open now. */
export interface OpenedPage {
  /** The pages' address. */
  url: string;
  /** A file for a browser, or a link for a person; with a ticket in it, which is good once. */
  opens: string;
}

export interface AgentPages {
  open(way: "file" | "link"): Promise<OpenedPage>;
  /** The ticket of a download. @throws RunnelError Unavailable when no page is open. */
  offer(download: Download): Promise<string>;
}

export class LocalPages implements AgentPages {
  readonly #settings: Omit<PageDoorSettings, "closing">;
  readonly #changed: () => void;
  #door: Promise<PageDoor> | undefined;

  /** `changed` is called when the door was opened or closed. */
  constructor(settings: Omit<PageDoorSettings, "closing">, changed: () => void) {
    this.#settings = settings;
    this.#changed = changed;
  }

  get isOpen(): boolean {
    return this.#door !== undefined;
  }

  async open(way: "file" | "link"): Promise<OpenedPage> {
    this.#door ??= this.#open();
    const door = await this.#door;
    return { url: door.url, opens: way === "file" ? door.entryFile() : door.link() };
  }

  async offer(download: Download): Promise<string> {
    const door = await this.#door;
    if (door !== undefined) return door.offer(download);
    throw new RunnelError("Unavailable", "offer a download", 'No page is open. Open one: "runnel ui".');
  }

  async close(): Promise<void> {
    const door = await this.#door?.catch(() => undefined);
    await door?.close();
  }

  async #open(): Promise<PageDoor> {
    const closing = (): void => {
      this.#door = undefined;
      this.#changed();
    };
    try {
      const { PageDoor: Door } = await import("./page-door.ts");
      return await Door.open({ ...this.#settings, closing });
    } catch (error) {
      closing();
      throw error;
    } finally {
      this.#changed();
    }
  }
}

/** Verbs that a page may call, and what it may ask of each (verb.ts). */
export function pageTable(verbs: Readonly<Record<string, CallSchemas & { pageAsks?: z.ZodType }>>): CallTable {
  return Object.fromEntries(
    Object.entries(verbs).flatMap(([verb, schemas]) =>
      schemas.pageAsks === undefined ? [] : [[verb, { ...schemas, asks: schemas.pageAsks }]],
    ),
  );
}
