// Stands between a page and who answers it: answers come late, or calls are refused, as a test wants. What is passed is
// that of the real agent or server.
import type { BrowserContext, Page } from "playwright-core";

interface Call {
  id?: number;
  request?: { verb: string };
}

export class LineTap {
  /** Milliseconds by which what comes to the page is late. */
  delayMs = 0;
  /** Sentence with which calls are refused; "" lets them through. */
  refusal = "";
  /** Every text that came to the page as data. */
  readonly heard = new Set<string>();

  /** Taps the lines of all pages that are opened from now on. */
  async attach(to: BrowserContext | Page): Promise<void> {
    await to.routeWebSocket(/\/calls$/, (page) => {
      const answerer = page.connectToServer();
      page.onMessage((text) => {
        const { id, request } = JSON.parse(String(text)) as Call;
        if (this.refusal === "" || request === undefined) answerer.send(text);
        else page.send(JSON.stringify({ id, error: { kind: "Io", message: this.refusal } }));
      });
      answerer.onMessage((text) => {
        this.#hear(JSON.parse(String(text)));
        if (this.delayMs === 0) page.send(text);
        else setTimeout(() => page.send(text), this.delayMs);
      });
    });
  }

  #hear(value: unknown): void {
    if (typeof value === "string") this.heard.add(value);
    else if (typeof value === "object" && value !== null) for (const each of Object.values(value)) this.#hear(each);
  }
}
