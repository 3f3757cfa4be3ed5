// Pages on this machine's loopback, while any is asked for: the door is opened for the first one, and what it needs is
// loaded only then.
import { RunnelError } from "../errors.ts";
import type { Download } from "./downloads.ts";
import type { PageDoor, PageDoorSettings } from "./page-door.ts";

/** A page that a person may open now. */
export interface OpenedPage {
  /** The pages' address. */
  url: string;
  /** A file for a browser, or a link for a person; with a ticket in it, which is good once. */
  opens: string;
}

export interface Pages<Start> {
  /** Opens one, whose page session will be started so. */
  open(way: "file" | "link", start: Start): Promise<OpenedPage>;
  /** The ticket of a download. @throws RunnelError Unavailable when no page is open. */
  offer(download: Download): Promise<string>;
}

export class LocalPages<Who, Start = Who> implements Pages<Start> {
  readonly #settings: Omit<PageDoorSettings<Who, Start>, "closing">;
  readonly #changed: () => void;
  #door: Promise<PageDoor<Who, Start>> | undefined;

  /** `changed` is called when the door was opened or closed. */
  constructor(settings: Omit<PageDoorSettings<Who, Start>, "closing">, changed: () => void) {
    this.#settings = settings;
    this.#changed = changed;
  }

  get isOpen(): boolean {
    return this.#door !== undefined;
  }

  async open(way: "file" | "link", start: Start): Promise<OpenedPage> {
    this.#door ??= this.#open();
    const door = await this.#door;
    return { url: door.url, opens: way === "file" ? door.entryFile(start) : door.link(start) };
  }

  async offer(download: Download): Promise<string> {
    const door = await this.#door;
    if (door !== undefined) return door.offer(download);
    throw new RunnelError("Unavailable", "offer a download", `No page is open. Open one: "${this.#settings.command}".`);
  }

  async close(): Promise<void> {
    const door = await this.#door?.catch(() => undefined);
    await door?.close();
  }

  async #open(): Promise<PageDoor<Who, Start>> {
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
