// A value below the key Run of this user on Windows ("Run and RunOnce Registry Keys"), by reg.exe. Values go and come
// as files of UTF-16: what reg.exe prints is in the code page of a console, which lacks most letters.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromSystemError, isRunnelError, RunnelError } from "@runnel/shared/base";
import { checkPrintable, type FoundEntry, type LoginEntry } from "../../login-start.ts";

const OPERATION = "start at login";
/** Below the key of this user; the installers remove the value that starts what they remove. */
export const RUN_KEY = String.raw`Software\Microsoft\Windows\CurrentVersion\Run`;
export const RUN_NAME = "Runnel drives";
const KEY = `HKEY_CURRENT_USER\\${RUN_KEY}`;
/** Each of Runnel's commands has it, and no other's. */
const MARK = ' "reconnect" "--home" "';
/** Windows starts no longer ones. */
const COMMAND_CHARACTERS_MAX = 260;
const ANSWER_MS = 10_000;

/** Runs reg.exe. */
export type RunReg = (...words: string[]) => Promise<void>;

export class RunValue implements LoginEntry {
  readonly place = `${KEY}, "${RUN_NAME}"`;
  readonly #reg: RunReg;

  constructor(reg: RunReg = runReg) {
    this.#reg = reg;
  }

  async read(): Promise<FoundEntry | undefined> {
    return inFile(async (path) => {
      try {
        await this.#reg("export", KEY, path, "/y");
      } catch (error) {
        // A user who has never had such a value may lack the key.
        if (isRunnelError(error, "NotFound")) return undefined;
        throw error;
      }
      const text = valueIn(await readFile(path, "utf16le"));
      return text === undefined ? undefined : { text };
    });
  }

  /** Paths of Windows have no quotes. A backslash before a quote would be taken for its escape. */
  textOf(command: readonly string[]): string {
    checkPrintable(command);
    const text = command.map((word) => `"${word.replace(/(\\+)$/, "$1$1")}"`).join(" ");
    if (text.length <= COMMAND_CHARACTERS_MAX && !command.some((word) => word.includes('"'))) return text;
    const sentence = `Windows starts nothing at log-in whose command has more than ${COMMAND_CHARACTERS_MAX} characters, or quotes. Install Runnel in a folder with a shorter path.`;
    throw new RunnelError("Invalid", OPERATION, sentence);
  }

  isOurs(text: string): boolean {
    return text.includes(MARK);
  }

  async write(text: string): Promise<void> {
    await inFile(async (path) => {
      await writeFile(path, `\uFEFF${fileOf(text)}`, "utf16le");
      await this.#reg("import", path);
    });
  }

  async remove(): Promise<void> {
    await this.#reg("delete", KEY, "/v", RUN_NAME, "/f");
  }
}

/** A file that reg.exe imports. */
function fileOf(text: string): string {
  const data = text.replaceAll(/["\\]/g, String.raw`\$&`);
  return ["Windows Registry Editor Version 5.00", "", `[${KEY}]`, `"${RUN_NAME}"="${data}"`, ""].join("\r\n");
}

/** Text of the value in a file that reg.exe exported; as it stands there where it is no plain text. */
function valueIn(file: string): string | undefined {
  const start = `"${RUN_NAME}"=`;
  const line = file.split(/\r?\n/).find((each) => each.startsWith(start));
  if (line === undefined) return undefined;
  const data = line.slice(start.length);
  const [, quoted] = /^"(.*)"$/.exec(data) ?? [];
  return quoted === undefined ? data : quoted.replaceAll(/\\(["\\])/g, "$1");
}

async function inFile<T>(use: (path: string) => Promise<T>): Promise<T> {
  try {
    const folder = await mkdtemp(join(tmpdir(), "runnel-"));
    return await use(join(folder, "run.reg")).finally(() => rm(folder, { recursive: true, force: true }));
  } catch (error) {
    throw isRunnelError(error) ? error : fromSystemError(error, OPERATION);
  }
}

function runReg(...words: string[]): Promise<void> {
  const program = join(process.env["SystemRoot"] ?? String.raw`C:\Windows`, "System32", "reg.exe");
  return new Promise((done, fail) => {
    execFile(program, words, { timeout: ANSWER_MS, windowsHide: true }, (error) => {
      if (error === null) return done();
      // reg.exe ends with 1 for whatever is not there, or may not be touched.
      const kind = error.code === 1 && words[0] === "export" ? "NotFound" : "Unavailable";
      fail(new RunnelError(kind, OPERATION, `reg.exe ${words[0]} has failed.`));
    });
  });
}
