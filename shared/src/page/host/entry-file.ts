// The file that a browser is started with: it hands the ticket over by a POST, so that it stands in no command line, no
// history and no Referer. Only its user can read it, and it is gone when the ticket is.
/* oxlint-disable node/no-sync -- a small file, when a person opens a page */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromSystemError } from "../../errors.ts";

const NAME = /^open-\d+\.html$/;

export class EntryFiles {
  readonly #folder: string;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Removes what a process left that was killed. */
  clear(): void {
    try {
      for (const name of readdirSync(this.#folder)) if (NAME.test(name)) this.remove(join(this.#folder, name));
    } catch {
      // There is no folder yet.
    }
  }

  /** Writes one and returns its path. `enterUrl` is where it posts the ticket to. @throws RunnelError */
  write(enterUrl: string, ticket: string): string {
    this.#count += 1;
    const path = join(this.#folder, `open-${this.#count}.html`);
    try {
      this.#makeFolder();
      this.remove(path);
      writeFileSync(path, entryPage(enterUrl, ticket), { mode: 0o600, flag: "wx" });
    } catch (error) {
      throw fromSystemError(error, "open a page");
    }
    return path;
  }

  #makeFolder(): void {
    try {
      mkdirSync(this.#folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }

  /** A file that stays has a ticket in it that is good no more. */
  remove(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch {
      // The next process tries again.
    }
  }
}

/** Neither the address nor the ticket has a character that means something in HTML. */
function entryPage(enterUrl: string, ticket: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Runnel</title>
<form method="post" action="${enterUrl}">
<input type="hidden" name="ticket" value="${ticket}">
<noscript><button>Open Runnel</button></noscript>
</form>
<script>document.forms[0].submit()</script>
</html>
`;
}
