// Reads and writes a command's words: results to stdout, failures to stderr; with --json one object to stdout and
// nothing else there.
import { nameOfText } from "@runnel/shared/base";
import type { RunnelError } from "@runnel/shared";
import { printable } from "./printable.ts";
import { progressBar } from "./progress-bar.ts";

/** The two streams of a command. */
export interface Sinks {
  stdout: { write(output: string | Uint8Array): unknown; isTTY?: boolean; columns?: number };
  stderr: { write(text: string): unknown; isTTY?: boolean };
  stdin?: AsyncIterable<string | Uint8Array> & { isTTY?: boolean };
}

/** Width of a terminal that says none, or 0 as some do. */
const COLUMNS_UNKNOWN = 80;
/** Moves to the start of the line and clears it (ECMA-48). */
const TO_LINE_START = "\r\u001B[K";

export class Output {
  readonly isJson: boolean;
  /** Exit code of a command that has a result: 1 where a part of what it was to do is not done. */
  exitCode: 0 | 1 = 0;
  readonly #sinks: Sinks;
  #hasBar = false;
  #screenLines = 0;

  constructor(isJson: boolean, sinks: Sinks = process) {
    this.isJson = isJson;
    this.#sinks = sinks;
  }

  /** The result of a command: as an object, or as lines for a person. */
  result(value: object, lines: () => readonly string[]): void {
    if (this.isJson) this.print(`${JSON.stringify(value)}\n`);
    else for (const line of lines()) this.print(`${printable(line)}\n`);
  }

  /** Names for programs to read go out as the bytes they are; a terminal gets what is safe to show. */
  names(names: readonly string[]): void {
    const isShown = this.#sinks.stdout.isTTY === true;
    const lines = names.map((name) => `${isShown ? printable(name) : name}\n`).join("");
    this.#sinks.stdout.write(isShown ? lines : nameOfText(lines));
  }

  /**
   * Reads a line that a person types or a program hands over, without the blanks around it; "" when there is none. At
   * most `charactersMax` are read.
   */
  async line(question: string, charactersMax: number): Promise<string> {
    const { stdin, stderr } = this.#sinks;
    if (stdin === undefined) return "";
    if (stdin.isTTY === true) stderr.write(question);
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of stdin) {
      text += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
      if (text.trim().includes("\n") || (text.trim() !== "" && text.endsWith("\n")) || text.length > charactersMax)
        break;
    }
    return text.trim().split("\n", 1)[0]?.trim() ?? "";
  }

  /** Shows how far something is that takes long, where somebody looks at a terminal. */
  progress(done: number, all: number): void {
    if (this.isJson || this.#sinks.stderr.isTTY !== true) return;
    this.#hasBar = true;
    this.#sinks.stderr.write(`${TO_LINE_START}${progressBar(done, all)}`);
  }

  /** Shows a line in place of the one before, where somebody looks at a terminal. */
  progressLine(text: string): void {
    if (this.isJson || this.#sinks.stderr.isTTY !== true) return;
    this.#hasBar = true;
    this.#sinks.stderr.write(`${TO_LINE_START}${printable(text)}`);
  }

  endProgress(): void {
    if (this.#hasBar) this.#sinks.stderr.write(TO_LINE_START);
    this.#hasBar = false;
  }

  /** Shows lines in place of the ones before, where somebody looks at a terminal. @returns false where nobody does. */
  screen(lines: readonly string[]): boolean {
    const { stdout } = this.#sinks;
    if (this.isJson || stdout.isTTY !== true) return false;
    const columns = (stdout.columns || COLUMNS_UNKNOWN) - 1;
    // A line that wraps would be two.
    const shown = lines.map((line) => printable(line).slice(0, columns));
    const up = this.#screenLines > 0 ? `\u001B[${this.#screenLines}A` : "";
    stdout.write(`${up}\r\u001B[J${shown.join("\n")}\n`);
    this.#screenLines = shown.length;
    return true;
  }

  print(text: string): void {
    this.#sinks.stdout.write(text);
  }

  fail(error: RunnelError): void {
    const { kind } = error;
    const message = printable(error.message);
    if (this.isJson) this.print(`${JSON.stringify({ error: { kind, message } })}\n`);
    this.#sinks.stderr.write(`${message}\n`);
  }

  /** A fault of the program: what a developer needs. */
  explain(error: unknown): void {
    this.#sinks.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  }
}
