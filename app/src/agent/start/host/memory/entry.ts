// An entry that lies in memory, for tests.
import type { FoundEntry, LoginEntry } from "../../login-start.ts";
import { checkPrintable } from "../../login-start.ts";

const MARK = "runnel:";

export class MemoryEntry implements LoginEntry {
  readonly place = "memory";
  text: string | undefined;

  read(): Promise<FoundEntry | undefined> {
    return Promise.resolve(this.text === undefined ? undefined : { text: this.text });
  }

  textOf(command: readonly string[]): string {
    checkPrintable(command);
    return MARK + JSON.stringify(command);
  }

  isOurs(text: string): boolean {
    return text.startsWith(MARK);
  }

  write(text: string): Promise<void> {
    this.text = text;
    return Promise.resolve();
  }

  remove(): Promise<void> {
    this.text = undefined;
    return Promise.resolve();
  }
}
